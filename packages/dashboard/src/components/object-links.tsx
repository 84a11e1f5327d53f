/** Links from an id to its page. A key that cannot view that page sees plain text. */
import type { Scope } from '@countersign/contract'
import { Anchor } from '@mantine/core'
import { Link, type LinkProps } from '@tanstack/react-router'
import { useMay } from '../session'
import { visibleText } from './invisible'

interface ObjectLinkProps {
  readonly id: string
  /** Shown instead of the id. */
  readonly name?: string | undefined
}

const DEFAULT_POLICY = 'pol_default'

export function AgentLink(props: ObjectLinkProps) {
  return <ObjectLink {...props} scope="agents:read" to={{ to: '/agents/$id', params: { id: props.id } }} />
}

export function DecisionLink(props: ObjectLinkProps) {
  return <ObjectLink {...props} scope="decisions:read" to={{ to: '/decisions/$id', params: { id: props.id } }} />
}

export function KeyLink(props: ObjectLinkProps) {
  return <ObjectLink {...props} scope="keys:read" to={{ to: '/keys' }} />
}

/** The default policy stands for no policy and has no page. */
export function PolicyLink(props: ObjectLinkProps) {
  if (props.id === DEFAULT_POLICY) return <span className="mono">{props.id}</span>
  return <ObjectLink {...props} scope="policies:read" to={{ to: '/policies/$id', params: { id: props.id } }} />
}

function ObjectLink(props: ObjectLinkProps & { readonly scope: Scope; readonly to: LinkProps }) {
  const { id, name, scope, to } = props
  const may = useMay()
  const className = name === undefined ? 'mono' : undefined
  const style = { overflowWrap: 'anywhere' } as const
  const text = visibleText(name ?? id)
  if (!may(scope))
    return (
      <span className={className} style={style}>
        {text}
      </span>
    )
  return (
    <Anchor className={className} style={style} inherit renderRoot={(rest) => <Link {...rest} {...to} />}>
      {text}
    </Anchor>
  )
}
