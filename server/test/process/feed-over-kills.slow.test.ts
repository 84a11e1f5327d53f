/** The feed over kills of the server, on the embedded store. */
import { stress } from '@countersign/testkit'
import { afterEach, describe, it } from 'vitest'
import { endChildren } from './child.js'
import { eventsOverKills } from './events-over-kills.js'
import { removeDirectories } from './shipped-server.js'
import { closeReceivers, webhooksOverKills } from './webhooks-over-kills.js'

afterEach(async () => {
  await endChildren()
  closeReceivers()
  removeDirectories()
})

describe('over kills of the server', () => {
  const { webhook_events: events, webhook_kills: kills } = stress
  it(
    `webhooks get every event, ${events} events and ${kills} kills`,
    () => webhooksOverKills({ events, kills }),
    240_000,
  )
  it('a reader of live events sees each change once and in order', () => eventsOverKills(), 120_000)
})
