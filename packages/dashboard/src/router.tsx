/** The routes of the dashboard. Each page is loaded when it is first opened. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  Navigate,
  Outlet,
  type SearchSchemaInput,
} from '@tanstack/react-router'
import type { ComponentType } from 'react'
import { AUDIT_FILTERS } from './api/audit'
import { DECISION_FILTERS } from './api/decisions'
import { lazily, NotLoadedPage } from './components/lazily'
import { LiveEvents } from './live'
import { FailedPage, FailedWindow } from './pages/failed-page'
import { NotFoundPage } from './pages/not-found-page'
import { SIGN_IN_PATH } from './pages/sign-in/code-in-url'
import { SignedIn } from './session'
import { Shell } from './shell/shell'

const rootRoute = createRootRoute({ component: Outlet, notFoundComponent: NotFoundPage, errorComponent: FailedWindow })

/** The parent of every page that needs a session. */
const signedInRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'signed-in',
  errorComponent: FailedWindow,
  component: () => (
    <SignedIn>
      <LiveEvents>
        <Shell>
          <Outlet />
        </Shell>
      </LiveEvents>
    </SignedIn>
  ),
})

type Search<Name extends string> = { readonly [N in Name]?: string }

/** Reads these parameters of the URL as text and ignores others. */
function searchOf<Name extends string>(...names: readonly Name[]) {
  return (given: Search<Name> & SearchSchemaInput): Search<Name> =>
    Object.fromEntries(
      names.flatMap((name) => (typeof given[name] === 'string' && given[name] !== '' ? [[name, given[name]]] : [])),
    ) as unknown as Search<Name>
}

/**
 * @param name the name of the export: a component without props
 * @param load imports the module. Its type is not used, because the types of pages depend on the types of routes
 */
function page<Name extends string>(name: Name, load: () => Promise<{ readonly [N in Name]: unknown }>) {
  return lazily(name, async () => (await load())[name] as ComponentType, <NotLoadedPage />)
}

const under = { getParentRoute: () => signedInRoute }

const routes = [
  createRoute({
    ...under,
    path: '/',
    validateSearch: searchOf('span'),
    component: page('OverviewPage', () => import('./pages/overview/overview-page')),
  }),
  createRoute({
    ...under,
    path: '/decisions',
    validateSearch: searchOf(...DECISION_FILTERS),
    component: page('DecisionsPage', () => import('./pages/decisions/decisions-page')),
  }),
  createRoute({
    ...under,
    path: '/decisions/$id',
    component: page('DecisionPage', () => import('./pages/decisions/decision-page')),
  }),
  createRoute({
    ...under,
    path: '/reviews',
    validateSearch: searchOf('agent_id', 'tab'),
    component: page('ReviewsPage', () => import('./pages/reviews/reviews-page')),
  }),
  createRoute({
    ...under,
    path: '/policies',
    validateSearch: searchOf('q'),
    component: page('PoliciesPage', () => import('./pages/policies/policies-page')),
  }),
  createRoute({
    ...under,
    path: '/policies/new',
    validateSearch: searchOf('for', 'copy', 'revision'),
    component: page('NewPolicyPage', () => import('./pages/policy/new-policy-page')),
  }),
  createRoute({
    ...under,
    path: '/policies/$id',
    validateSearch: searchOf('for', 'tab'),
    component: page('PolicyPage', () => import('./pages/policy/policy-page')),
  }),
  createRoute({
    ...under,
    path: '/simulator',
    validateSearch: searchOf('for'),
    component: page('SimulatorPage', () => import('./pages/simulator/simulator-page')),
  }),
  createRoute({
    ...under,
    path: '/budgets',
    component: page('BudgetsPage', () => import('./pages/budgets/budgets-page')),
  }),
  createRoute({
    ...under,
    path: '/agents',
    component: page('AgentsPage', () => import('./pages/agents/agents-page')),
  }),
  createRoute({
    ...under,
    path: '/agents/$id',
    component: page('AgentPage', () => import('./pages/agents/agent-page')),
  }),
  createRoute({
    ...under,
    path: '/keys',
    component: page('KeysPage', () => import('./pages/keys/keys-page')),
  }),
  createRoute({
    ...under,
    path: '/webhooks',
    component: page('WebhooksPage', () => import('./pages/webhooks/webhooks-page')),
  }),
  createRoute({
    ...under,
    path: '/webhooks/$id',
    component: page('WebhookPage', () => import('./pages/webhooks/webhook-page')),
  }),
  createRoute({
    ...under,
    path: '/audit',
    validateSearch: searchOf(...AUDIT_FILTERS),
    component: page('AuditPage', () => import('./pages/audit/audit-page')),
  }),
  createRoute({
    ...under,
    path: '/get-started',
    component: page('GetStartedPage', () => import('./pages/get-started/get-started-page')),
  }),
  // A sign-in link is useless to a user who is already signed in.
  createRoute({ ...under, path: SIGN_IN_PATH, component: () => <Navigate to="/" replace /> }),
] as const

/** The pages that need no session. */
const publicRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/docs',
    errorComponent: FailedWindow,
    component: page('ReferencePage', () => import('./pages/reference/reference-page')),
  }),
] as const

const routeTree = rootRoute.addChildren([signedInRoute.addChildren([...routes]), ...publicRoutes])

export const router = createRouter({
  routeTree,
  defaultPreload: 'intent',
  defaultErrorComponent: FailedPage,
  scrollRestoration: true,
  // Every parameter is text, exactly as in the URL.
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const given = Object.entries(search).filter(([, value]) => typeof value === 'string' && value !== '')
    const text = new URLSearchParams(given as [string, string][]).toString()
    return text === '' ? '' : `?${text}`
  },
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
