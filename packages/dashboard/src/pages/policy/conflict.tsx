import type { Policy } from '@countersign/contract'
import { Button, Group, Stack, Text } from '@mantine/core'
import { DiffView } from '../../components/json/diff-view'
import { Notice } from '../../components/notice'
import { Ago } from '../../components/time'
import { policyText } from './policy-text'

export interface ConflictProps {
  /** The revision that the changes on this page started from. */
  readonly base: Policy
  /** The revision that another user has saved since. */
  readonly theirs: Policy
  readonly onLoad: () => void
  /** Null when the draft cannot be saved. */
  readonly onSaveOver: (() => void) | null
  readonly isSaving: boolean
}

/** Shown when another user saved while this page had unsaved changes. Neither version is lost without a choice. */
export function Conflict({ base, theirs, onLoad, onSaveOver, isSaving }: ConflictProps) {
  return (
    <Notice kind="warning" isUrgent title={`Revision ${theirs.revision} was saved while you were editing`}>
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
