import type { DecisionDetail } from '@countersign/contract'
import { Anchor, Group, Stack, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { CopyButton } from '../../components/copy-button'
import { ErasedAt } from '../../components/erasure'
import { visibleText } from '../../components/invisible'
import { JsonView } from '../../components/json/json-view'
import { AgentLink } from '../../components/object-links'
import { Facts, Panel } from '../../components/panel'
import { useMay } from '../../session'
import { EraseRequest } from './erase-request'

export function RequestPanel({ decision }: { readonly decision: DecisionDetail }) {
  const { id, agent_id, action, resource, context, request_hash, request_id, trace_id } = decision
  const may = useMay()
  const isErased = decision.request_erased_at !== undefined
  return (
    <Panel title="Request" aside={!isErased && may('audit:write') && <EraseRequest id={id} />}>
      <Stack gap="sm">
        <Facts
          facts={[
            ['Agent', <AgentLink key="agent" id={agent_id} />],
            ['Action', <code key="action">{visibleText(action)}</code>],
            [
              'Resource',
              isErased ? null : resource === null ? 'none' : <code key="resource">{visibleText(resource)}</code>,
            ],
            ['Request id', <code key="id">{visibleText(request_id)}</code>],
            ['Trace', trace_id === null ? null : <TraceId key="trace" id={trace_id} />],
            [
              'Request hash',
              request_hash === null ? null : (
                <span key="hash">
                  <code>{request_hash}</code>{' '}
                  <Anchor
                    size="sm"
                    renderRoot={(props) => <Link {...props} to="/decisions" search={{ request_hash }} />}
                  >
                    Identical requests
                  </Anchor>
                </span>
              ),
            ],
          ]}
        />
        {isErased ? (
          <Text className="quiet">
            <ErasedAt decision={decision} />. The resource, context and request hash are gone.
          </Text>
        ) : context === null ? (
          <Text className="quiet">The request has no context.</Text>
        ) : (
          <JsonView value={context} label="Context" />
        )}
      </Stack>
    </Panel>
  )
}

function TraceId({ id }: { readonly id: string }) {
  return (
    <Group gap="xs">
      <code>{id}</code>
      <CopyButton text={id} label="Copy trace id" />
      <Anchor size="sm" renderRoot={(props) => <Link {...props} to="/decisions" search={{ trace_id: id }} />}>
        Decisions of this trace
      </Anchor>
    </Group>
  )
}
