/** The erasing of requests, in words: before it is done, and after. */
import type { DecisionDetail } from '@countersign/contract'
import { List, Stack, Text } from '@mantine/core'
import { At } from './time'

/** When the request of a decision was erased; nothing while it is held. */
export function ErasedAt({ decision: { request_erased_at } }: { readonly decision: DecisionDetail }) {
  if (request_erased_at === undefined) return null
  return (
    <>
      Erased on <At at={request_erased_at} />
    </>
  )
}

/** What is lost, and what is not. */
export function ErasureConsequences() {
  return (
    <Stack gap="sm">
      <div>
        <Text>Erased wherever the server holds it:</Text>
        <List mt={4}>
          <List.Item>the resource, the context and the request hash</List.Item>
          <List.Item>the explanation</List.Item>
        </List>
      </div>
      <div>
        <Text>These stay:</Text>
        <List mt={4}>
          <List.Item>the agent id, the action, amounts, comments and notes</List.Item>
          <List.Item>the audit log with its proofs, and backups from before</List.Item>
          <List.Item>permits that were handed out before, in force until they end</List.Item>
        </List>
      </div>
      <Text>A review that waits can only be declined then, and no permit is made any more.</Text>
      <Text fw={600}>Nobody can undo it.</Text>
    </Stack>
  )
}
