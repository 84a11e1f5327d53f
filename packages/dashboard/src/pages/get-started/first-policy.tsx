import { Button, Group, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ApiError } from '../../api/client'
import { useOnceKey } from '../../api/once'
import { createPolicy, listPolicies } from '../../api/policies'
import { CodeBlock } from '../../components/code-block'
import { prettyJson } from '../../components/json/pretty-json'
import { ErrorNotice, Notice } from '../../components/notice'
import { EXAMPLE_POLICY } from '../../example-policy'
import { useMay } from '../../session'

const TEXT = prettyJson(EXAMPLE_POLICY)

/** The example policy as JSON, with a button that creates it once. */
export function FirstPolicy() {
  const may = useMay()
  const client = useQueryClient()
  const present = useQuery({
    queryKey: ['policies', 'list'],
    queryFn: ({ signal }) => listPolicies(signal),
    select: (policies) => policies.find(({ name }) => name === EXAMPLE_POLICY.name) ?? null,
    enabled: may('policies:read'),
  })
  const { key } = useOnceKey()
  const create = useMutation({
    mutationFn: () => createPolicy(TEXT, key),
    // Also after a failure: the policy may exist already without this page knowing.
    onSettled: () => client.invalidateQueries({ queryKey: ['policies'] }),
  })
  const made = create.data ?? present.data ?? null
  const isTaken = create.error instanceof ApiError && create.error.problem?.code === 'policy_name_taken'
  return (
    <Stack gap="sm">
      <Text>
        Without a policy, every request is denied. This one lets support agents refund up to 100 and sends refunds up to
        1000 to a reviewer:
      </Text>
      <CodeBlock code={TEXT} label="Example policy" />
      {present.isError && <ErrorNotice error={present.error} retry={present.refetch} />}
      {create.isError && !isTaken && <ErrorNotice error={create.error} title="The policy was not created" />}
      {made !== null || isTaken ? (
        <Notice kind="success">
          The policy is on this server.{' '}
          {made !== null && (
            <Link to="/policies/$id" params={{ id: made.id }}>
              Open it
            </Link>
          )}
        </Notice>
      ) : may('policies:write') ? (
        <Group>
          <Button
            onClick={() => create.mutate()}
            loading={create.isPending}
            disabled={may('policies:read') && !present.isSuccess}
          >
            Create this example policy
          </Button>
          <Text size="sm" className="quiet">
            It applies from the next request.
          </Text>
        </Group>
      ) : (
        <Text className="quiet">Your key cannot create policies: it is missing the scope policies:write.</Text>
      )}
    </Stack>
  )
}
