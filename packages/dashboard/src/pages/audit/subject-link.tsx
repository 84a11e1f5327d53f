import { Anchor } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { visibleText } from '../../components/invisible'
import { AgentLink, DecisionLink, KeyLink, PolicyLink } from '../../components/object-links'

/** What an entry is about, by the form of its id. Agents have any. */
export function SubjectLink({ id, agentId }: { readonly id: string; readonly agentId: string | null }) {
  if (id.startsWith('dec_')) return <DecisionLink id={id} />
  if (id.startsWith('pol_')) return <PolicyLink id={id} />
  if (id.startsWith('key_')) return <KeyLink id={id} />
  if (id.startsWith('whk_'))
    return (
      <Anchor className="mono" inherit renderRoot={(props) => <Link {...props} to="/webhooks/$id" params={{ id }} />}>
        {id}
      </Anchor>
    )
  if (id === agentId) return <AgentLink id={id} />
  return <code>{visibleText(id)}</code>
}
