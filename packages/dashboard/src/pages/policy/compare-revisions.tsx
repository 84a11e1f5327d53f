import { Button, Stack, Text } from '@mantine/core'
import { ShieldCheckIcon } from '@primer/octicons-react'
import { useMutation } from '@tanstack/react-query'
import { readPolicyEntries, readPolicyRecords } from '../../api/audit'
import { DifferenceList } from '../../components/difference-list'
import { ErrorNotice, Notice } from '../../components/notice'
import { useMay } from '../../session'
import type { RecordCheck } from '../../verifier/compare-policy'

export interface CompareRevisionsProps {
  readonly policyId: string
  /** The current revision; null for a deleted policy. */
  readonly liveRevision: number | null
}

/** Compares the stored revisions with their hashes in the audit log. */
export function CompareRevisions({ policyId, liveRevision }: CompareRevisionsProps) {
  const mayRead = useMay()('audit:read')
  const run = useMutation({ mutationFn: () => compare(policyId, liveRevision) })
  if (!mayRead) return null
  return (
    <Stack gap="xs" mt="sm" align="flex-start">
      <Button
        size="xs"
        variant="default"
        leftSection={<ShieldCheckIcon size={16} />}
        loading={run.isPending}
        onClick={() => run.mutate()}
      >
        Compare with the audit log
      </Button>
      {run.isError && <ErrorNotice error={run.error} title="The comparison failed" />}
      {run.data !== undefined && <Compared check={run.data} />}
    </Stack>
  )
}

async function compare(id: string, liveRevision: number | null): Promise<RecordCheck> {
  const { comparePolicy } = await import('../../verifier/compare-policy')
  const records = await readPolicyRecords(id)
  return comparePolicy(id, records, liveRevision, await readPolicyEntries(id))
}

function Compared({ check: { differences, unbound } }: { readonly check: RecordCheck }) {
  if (differences.length > 0)
    return (
      <Notice kind="error" title="The stored revisions differ from the audit log">
        <DifferenceList differences={differences} inWords={inWords} />
      </Notice>
    )
  return (
    <Notice kind="success" title="Every revision matches the audit log">
      <Text size="sm">
        Compared with the entries that this server returned. <code>countersign audit verify --records</code> also
        verifies the log.
      </Text>
      {unbound.length > 0 && (
        <Text size="sm">Some entries were written by an older release and do not cover every field.</Text>
      )}
    </Notice>
  )
}

const TEXT = /^revisions\.(\d+)\.document_hash$/

function inWords({ member, logged, stored, later_entry }: RecordCheck['differences'][number]): string {
  if (later_entry !== null)
    return `${member}: ${JSON.stringify(logged)} until ${later_entry.type} (entry ${later_entry.index}), which may not change it to ${JSON.stringify(stored)}`
  const [, revision] = TEXT.exec(member ?? '') ?? []
  if (revision !== undefined) return `revision ${revision}: its text differs from the saved one`
  if (member === null)
    return stored === null ? 'there is no revision' : 'the first entry of this policy is missing from the log'
  return `${member}: ${JSON.stringify(logged)} in the log, but ${JSON.stringify(stored)} here`
}
