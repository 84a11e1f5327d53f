import type { Policy } from '@countersign/contract'
import { Button, Group, Stack, Text } from '@mantine/core'
import { DiffView } from '../../components/json/diff-view'
import { Notice } from '../../components/notice'
import { Ago } from '../../components/time'
import { policyText } from './policy-text'

export interface ConflictProps {
  /** What the changes of this page began with. */
  readonly base: Policy
  /** What somebody else has saved since. */
  readonly theirs: Policy
  readonly onLoad: () => void
  /** Null when saving is not possible. */
  readonly onSaveOver: (() => void) | null
  readonly isSaving: boolean
}

/** Somebody else saved while this page had unsaved changes: nobody's work is lost without being asked. */
export function Conflict({ base, theirs, onLoad, onSaveOver, isSaving }: ConflictProps) {
  return (
    <Notice kind="warning" isUrgent title={`Somebody else has saved revision ${theirs.revision} meanwhile`}>
      <Stack gap="sm" mt="xs">
        <Text size="sm">
          Saved <Ago at={theirs.updated_at} />. This is what it changes in revision {base.revision}, which you began
          with:
        </Text>
        <DiffView
          label={`Changes from revision ${base.revision} to revision ${theirs.revision}`}
          before={policyText(base)}
          after={policyText(theirs)}
        />
        <Group gap="sm">
          <Button variant="default" size="xs" onClick={onLoad}>
            Load revision {theirs.revision} and drop my changes
          </Button>
          {onSaveOver !== null && (
            <Button color="red.9" size="xs" onClick={onSaveOver} loading={isSaving}>
              Save mine over revision {theirs.revision}
            </Button>
          )}
        </Group>
      </Stack>
    </Notice>
  )
}
