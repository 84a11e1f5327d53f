import type { DecisionDetail } from '@countersign/contract'
import { Anchor, Stack, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { visibleText } from '../../components/invisible'
import { JsonView } from '../../components/json/json-view'
import { AgentLink } from '../../components/object-links'
import { Facts, Panel } from '../../components/panel'

/** What was asked. */
export function RequestPanel({ decision }: { readonly decision: DecisionDetail }) {
  const { agent_id, action, resource, context, request_hash, request_id } = decision
  return (
    <Panel title="Request">
      <Stack gap="sm">
        <Facts
          facts={[
            ['Agent', <AgentLink key="agent" id={agent_id} />],
            ['Action', <code key="action">{visibleText(action)}</code>],
            ['Resource', resource === null ? 'none' : <code key="resource">{visibleText(resource)}</code>],
            ['Request id', <code key="id">{visibleText(request_id)}</code>],
            [
              'Request hash',
              <span key="hash">
                <code>{request_hash}</code>{' '}
                <Anchor size="sm" renderRoot={(props) => <Link {...props} to="/decisions" search={{ request_hash }} />}>
                  Same requests
                </Anchor>
              </span>,
            ],
          ]}
        />
        {context === null ? (
          <Text className="quiet">The request has no context.</Text>
        ) : (
          <JsonView value={context} label="Context" />
        )}
      </Stack>
    </Panel>
  )
}
