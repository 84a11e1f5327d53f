/** The revisions of a policy, each compared with the current one. */
import type { Policy, PolicyRevision } from '@countersign/contract'
import { Button, Group, Stack, Text, UnstyledButton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { listRevisions } from '../../api/policies'
import { visibleText } from '../../components/invisible'
import { DiffView } from '../../components/json/diff-view'
import { ErrorNotice } from '../../components/notice'
import { Empty, Loading } from '../../components/page'
import { Panel } from '../../components/panel'
import { At } from '../../components/time'
import { CompareRevisions } from './compare-revisions'
import classes from './policy.module.css'
import { policyText } from './policy-text'

export interface RevisionsProps {
  readonly policyId: string
  /** The current policy; null for a deleted one, whose last revision is used instead. */
  readonly present: Policy | null
  readonly onRestore: (revision: PolicyRevision) => void
  readonly restore: string
}

export function Revisions({ policyId, present, onRestore, restore }: RevisionsProps) {
  const revisions = useQuery({
    queryKey: ['policies', policyId, 'revisions', present?.revision],
    queryFn: ({ signal }) => listRevisions(policyId, signal),
  })
  const [chosen, setChosen] = useState<number | null>(null)
  if (revisions.isPending) return <Loading what="the revisions" />
  if (revisions.isError) return <ErrorNotice error={revisions.error} retry={revisions.refetch} />
  const [newest, ...older] = revisions.data
  if (newest === undefined) return <Empty title="No revisions" />
  const now = present ?? newest
  const shown = revisions.data.find(({ revision }) => revision === chosen) ?? older[0] ?? newest
  const isNow = shown.revision === now.revision
  return (
    <div className={classes.revisions}>
      <Panel title="Revisions">
        <ul className={classes.revisionList} aria-label="Revisions">
          {revisions.data.map((one) => (
            <li key={one.revision}>
              <UnstyledButton
                className={classes.revision}
                aria-pressed={one.revision === shown.revision}
                onClick={() => setChosen(one.revision)}
              >
                <span>
                  Revision {one.revision}
                  {one.revision === now.revision && (
                    <span className="quiet"> · {present === null ? 'last' : 'now'}</span>
                  )}
                </span>
                <span className="quiet">
                  <At at={one.updated_at} />
                </span>
              </UnstyledButton>
            </li>
          ))}
        </ul>
        <CompareRevisions key={now.revision} policyId={policyId} liveRevision={present?.revision ?? null} />
      </Panel>
      <Panel
        title={isNow ? `Revision ${shown.revision}` : `From revision ${shown.revision} to ${now.revision}`}
        aside={
          (!isNow || present === null) && (
            <Button size="xs" variant="default" onClick={() => onRestore(shown)}>
              {restore}
            </Button>
          )
        }
      >
        <Stack gap="xs">
          <Group gap="md">
            <Text size="sm" className="quiet">
              {isNow
                ? revisions.data.length === 1
                  ? 'The only revision so far.'
                  : 'The current revision.'
                : `Red: text of revision ${shown.revision}. Green: what replaced it.`}
            </Text>
            {shown.name !== now.name && <Text size="sm">Name at the time: {visibleText(shown.name)}</Text>}
          </Group>
          <DiffView
            label={isNow ? `Revision ${shown.revision}` : `Changes from revision ${shown.revision} to ${now.revision}`}
            before={policyText(shown)}
            after={policyText(now)}
          />
        </Stack>
      </Panel>
    </div>
  )
}
