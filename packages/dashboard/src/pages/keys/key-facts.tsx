import type { ApiKey } from '@countersign/contract'
import { List } from '@mantine/core'
import { visibleText } from '../../components/invisible'
import { Facts } from '../../components/panel'
import { Ago, At } from '../../components/time'
import { CreatedBy } from './created-by'
import { KeyStateBadge } from './key-state'
import { SCOPE_SENTENCES } from './scopes'

/** Every detail of a key. */
export function KeyFacts({ apiKey }: { readonly apiKey: ApiKey }) {
  const { id, hint, scopes, agents, created_at, created_by, last_used_at, expires_at, revoked_at } = apiKey
  return (
    <Facts
      facts={Object.entries({
        State: <KeyStateBadge apiKey={apiKey} />,
        Id: <span className="mono">{id}</span>,
        Secret: <span className="mono">{hint}</span>,
        Scopes: (
          <List listStyleType="none" spacing={4}>
            {scopes.map((scope) => (
              <List.Item key={scope}>
                <span className="mono">{scope}</span> <span className="quiet">{SCOPE_SENTENCES[scope]}</span>
              </List.Item>
            ))}
          </List>
        ),
        Agents: agents === null ? 'any' : <span className="mono">{visibleText(agents.join(', '))}</span>,
        'Created by': <CreatedBy id={created_by} />,
        Created: <At at={created_at} />,
        'Last used': last_used_at === null ? 'never' : <Ago at={last_used_at} />,
        Expires: expires_at === null ? 'never' : <At at={expires_at} />,
        Revoked: revoked_at === null ? null : <At at={revoked_at} />,
      })}
    />
  )
}
