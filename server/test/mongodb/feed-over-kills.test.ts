/** The feed over kills of the server, on MongoDB: another process goes on with readers whose holder is gone. */
import { randomBytes } from 'node:crypto'
import { stress } from '@countersign/testkit'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { auditFollowOverKills } from '../process/audit-follow-over-kills.js'
import { endChildren } from '../process/child.js'
import { eventsOverKills } from '../process/events-over-kills.js'
import { proofsOverKills } from '../process/proofs-over-kills.js'
import { removeDirectories } from '../process/shipped-server.js'
import { closeReceivers, webhooksOverKills } from '../process/webhooks-over-kills.js'
import { dropDatabase, mongoUrl } from '../stores/mongodb/open-mongo-store.js'

let name: string
beforeEach(() => {
  name = `countersign-feed-${randomBytes(6).toString('hex')}`
})
afterEach(async () => {
  await endChildren()
  closeReceivers()
  removeDirectories()
  await dropDatabase(name)
})

describe('over kills of the server', () => {
  it('webhooks get every event', () =>
    webhooksOverKills({ env: { MONGODB_URL: mongoUrl(name) }, events: 300, kills: 2 }))
  it('every acknowledged permit proves to a checkpoint', () =>
    proofsOverKills({ env: { MONGODB_URL: mongoUrl(name) }, kills: stress.proof_kills_on_mongodb }))
  it('a reader of live events sees each change once and in order', () =>
    eventsOverKills({ MONGODB_URL: mongoUrl(name) }))
  it('audit follow prints every entry in the order of its log', () =>
    auditFollowOverKills(stress.follow_kills_on_mongodb, { MONGODB_URL: mongoUrl(name) }))
})
