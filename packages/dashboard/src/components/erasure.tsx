/** What the dashboard says about erased requests, before and after. */
import type { DecisionDetail } from '@countersign/contract'
import { List, Stack, Text } from '@mantine/core'
import { At } from './time'

/** When the request of a decision was erased. Renders nothing for a request that is stored. */
export function ErasedAt({ decision: { request_erased_at } }: { readonly decision: DecisionDetail }) {
  if (request_erased_at === undefined) return null
  return (
    <>
      Erased on <At at={request_erased_at} />
    </>
  )
}

export function ErasureConsequences() {
  return (
    <Stack gap="sm">
      <div>
        <Text>Erased from the server:</Text>
        <List mt={4}>
          <List.Item>the resource, the context and the request hash</List.Item>
          <List.Item>the explanation</List.Item>
        </List>
      </div>
      <div>
        <Text>Kept:</Text>
        <List mt={4}>
          <List.Item>the agent id, the action, amounts, comments and notes</List.Item>
          <List.Item>the audit log with its proofs, and earlier backups</List.Item>
          <List.Item>permits already issued, valid until they expire</List.Item>
        </List>
      </div>
      <Text>After that, a pending review can only be declined, and no more permits are issued.</Text>
      <Text fw={600}>This cannot be undone.</Text>
    </Stack>
  )
}
