import { Tabs } from '@mantine/core'
import { getRouteApi } from '@tanstack/react-router'
import { Page } from '../../components/page'
import { AnsweredReviews } from './answered-reviews'
import { WaitingReviews } from './waiting-reviews'

const route = getRouteApi('/signed-in/reviews')

/** Pending and completed reviews. */
export function ReviewsPage() {
  const { tab, agent_id: agentId } = route.useSearch()
  const navigate = route.useNavigate()
  return (
    <Page
      title="Reviews"
      lead="Agents are waiting for these requests. An agent continues when you approve and stops when you decline."
      scopes={['decisions:read']}
    >
      <Tabs
        value={tab === 'answered' ? 'answered' : 'waiting'}
        onChange={(value) =>
          void navigate({ search: (search) => ({ ...search, tab: value === 'answered' ? value : '' }), replace: true })
        }
        keepMounted={false}
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="waiting">Pending</Tabs.Tab>
          <Tabs.Tab value="answered">Reviewed</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="waiting">
          <WaitingReviews
            key={agentId}
            agentId={agentId}
            onEveryAgent={() => void navigate({ search: {}, replace: true })}
          />
        </Tabs.Panel>
        <Tabs.Panel value="answered">
          <AnsweredReviews />
        </Tabs.Panel>
      </Tabs>
    </Page>
  )
}
