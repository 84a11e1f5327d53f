/** The menu. */
import type { Scope } from '@countersign/contract'
import {
  BeakerIcon,
  BookIcon,
  ChecklistIcon,
  CreditCardIcon,
  DependabotIcon,
  HomeIcon,
  KeyIcon,
  LawIcon,
  ListUnorderedIcon,
  LogIcon,
  RocketIcon,
  WebhookIcon,
} from '@primer/octicons-react'
import { Link } from '@tanstack/react-router'
import { Badge } from '../components/badges'
import { useMay } from '../session'
import classes from './shell.module.css'
import { useWaitingReviews } from './waiting-reviews'

interface Item {
  readonly to: string
  readonly label: string
  readonly icon: typeof KeyIcon
  /** The scope that the key needs for the page. */
  readonly scope?: Scope
}

const GROUPS: readonly { readonly name: string; readonly items: readonly Item[] }[] = [
  {
    name: 'Monitor',
    items: [
      { to: '/', label: 'Overview', icon: HomeIcon, scope: 'decisions:read' },
      { to: '/decisions', label: 'Decisions', icon: ListUnorderedIcon, scope: 'decisions:read' },
      { to: '/reviews', label: 'Reviews', icon: ChecklistIcon, scope: 'decisions:read' },
      { to: '/budgets', label: 'Budgets', icon: CreditCardIcon, scope: 'budgets:read' },
      { to: '/audit', label: 'Audit', icon: LogIcon, scope: 'audit:read' },
    ],
  },
  {
    name: 'Control',
    items: [
      { to: '/policies', label: 'Policies', icon: LawIcon, scope: 'policies:read' },
      { to: '/simulator', label: 'Simulator', icon: BeakerIcon, scope: 'policies:read' },
      { to: '/agents', label: 'Agents', icon: DependabotIcon, scope: 'agents:read' },
    ],
  },
  {
    name: 'Connect',
    items: [
      { to: '/get-started', label: 'Get started', icon: RocketIcon },
      { to: '/keys', label: 'API keys', icon: KeyIcon, scope: 'keys:read' },
      { to: '/webhooks', label: 'Webhooks', icon: WebhookIcon, scope: 'webhooks:read' },
      { to: '/docs', label: 'API reference', icon: BookIcon },
    ],
  },
]

/** Returns the start page of a key that cannot see the overview: the first page that it can see. */
export function firstPage(may: (scope: Scope) => boolean): string {
  const items = GROUPS.flatMap((group) => group.items)
  return items.find(({ scope }) => scope !== undefined && may(scope))?.to ?? '/get-started'
}

export function Navigation({ onNavigate }: { readonly onNavigate: () => void }) {
  const may = useMay()
  const waiting = useWaitingReviews()
  return (
    <nav aria-label="Pages">
      {GROUPS.map(({ name, items }) => (
        <div key={name}>
          <div className={classes.group} id={`menu-${name}`}>
            {name}
          </div>
          <ul className={classes.list} aria-labelledby={`menu-${name}`}>
            {items
              .filter(({ scope }) => scope === undefined || may(scope))
              .map(({ to, label, icon: Icon }) => (
                <li key={to}>
                  <Link
                    to={to}
                    className={classes.link}
                    activeOptions={{ exact: to === '/', includeSearch: false }}
                    onClick={onNavigate}
                  >
                    <Icon size={18} />
                    <span style={{ flex: 1 }}>{label}</span>
                    {to === '/reviews' && typeof waiting === 'string' && <Badge tone="review">{waiting}</Badge>}
                  </Link>
                </li>
              ))}
          </ul>
        </div>
      ))}
    </nav>
  )
}
