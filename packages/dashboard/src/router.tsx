/** Which page a path shows. Each page is loaded when it is opened first. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Navigate,
  Outlet,
  type SearchSchemaInput,
} from '@tanstack/react-router'
import { DECISION_FILTERS } from './api/decisions'
import { LiveEvents } from './live'
import { FailedPage } from './pages/failed-page'
import { NotFoundPage } from './pages/not-found-page'
import { SIGN_IN_PATH } from './pages/sign-in/code-in-url'
import { SignedIn } from './session'
import { Shell } from './shell/shell'

const rootRoute = createRootRoute({ component: Outlet, notFoundComponent: NotFoundPage, errorComponent: FailedPage })

/** Everything for which somebody has to be signed in. */
const signedInRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'signed-in',
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

/** Takes these parameters of the URL, as text, and leaves others out. */
function searchOf<Name extends string>(...names: readonly Name[]) {
  return (given: Search<Name> & SearchSchemaInput): Search<Name> =>
    Object.fromEntries(
      names.flatMap((name) => (typeof given[name] === 'string' && given[name] !== '' ? [[name, given[name]]] : [])),
    ) as unknown as Search<Name>
}

const under = { getParentRoute: () => signedInRoute }

const routes = [
  createRoute({
    ...under,
    path: '/',
    validateSearch: searchOf('span'),
    component: lazyRouteComponent(() => import('./pages/overview/overview-page'), 'OverviewPage'),
  }),
  createRoute({
    ...under,
    path: '/decisions',
    validateSearch: searchOf(...DECISION_FILTERS),
    component: lazyRouteComponent(() => import('./pages/decisions/decisions-page'), 'DecisionsPage'),
  }),
  createRoute({
    ...under,
    path: '/decisions/$id',
    component: lazyRouteComponent(() => import('./pages/decisions/decision-page'), 'DecisionPage'),
  }),
  createRoute({
    ...under,
    path: '/reviews',
    validateSearch: searchOf('agent_id', 'tab'),
    component: lazyRouteComponent(() => import('./pages/reviews/reviews-page'), 'ReviewsPage'),
  }),
  createRoute({
    ...under,
    path: '/policies',
    validateSearch: searchOf('q'),
    component: lazyRouteComponent(() => import('./pages/policies/policies-page'), 'PoliciesPage'),
  }),
  createRoute({
    ...under,
    path: '/policies/new',
    validateSearch: searchOf('for', 'copy', 'revision'),
    component: lazyRouteComponent(() => import('./pages/policy/new-policy-page'), 'NewPolicyPage'),
  }),
  createRoute({
    ...under,
    path: '/policies/$id',
    validateSearch: searchOf('for', 'tab'),
    component: lazyRouteComponent(() => import('./pages/policy/policy-page'), 'PolicyPage'),
  }),
  createRoute({
    ...under,
    path: '/simulator',
    validateSearch: searchOf('for'),
    component: lazyRouteComponent(() => import('./pages/simulator/simulator-page'), 'SimulatorPage'),
  }),
  createRoute({
    ...under,
    path: '/budgets',
    component: lazyRouteComponent(() => import('./pages/budgets/budgets-page'), 'BudgetsPage'),
  }),
  createRoute({
    ...under,
    path: '/agents',
    component: lazyRouteComponent(() => import('./pages/agents/agents-page'), 'AgentsPage'),
  }),
  createRoute({
    ...under,
    path: '/agents/$id',
    component: lazyRouteComponent(() => import('./pages/agents/agent-page'), 'AgentPage'),
  }),
  createRoute({
    ...under,
    path: '/keys',
    component: lazyRouteComponent(() => import('./pages/keys/keys-page'), 'KeysPage'),
  }),
  createRoute({
    ...under,
    path: '/webhooks',
    component: lazyRouteComponent(() => import('./pages/webhooks/webhooks-page'), 'WebhooksPage'),
  }),
  createRoute({
    ...under,
    path: '/webhooks/$id',
    component: lazyRouteComponent(() => import('./pages/webhooks/webhook-page'), 'WebhookPage'),
  }),
  createRoute({
    ...under,
    path: '/audit',
    validateSearch: searchOf('type', 'agent_id', 'decision_id'),
    component: lazyRouteComponent(() => import('./pages/audit/audit-page'), 'AuditPage'),
  }),
  createRoute({
    ...under,
    path: '/get-started',
    component: lazyRouteComponent(() => import('./pages/get-started/get-started-page'), 'GetStartedPage'),
  }),
  // Whoever is signed in already has no use for a link that signs in.
  createRoute({ ...under, path: SIGN_IN_PATH, component: () => <Navigate to="/" replace /> }),
] as const

/** For everybody. */
const publicRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/docs',
    component: lazyRouteComponent(() => import('./pages/reference/reference-page'), 'ReferencePage'),
  }),
] as const

const routeTree = rootRoute.addChildren([signedInRoute.addChildren([...routes]), ...publicRoutes])

export const router = createRouter({
  routeTree,
  defaultPreload: 'intent',
  scrollRestoration: true,
  // Every parameter is text, as it stands in the URL.
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
