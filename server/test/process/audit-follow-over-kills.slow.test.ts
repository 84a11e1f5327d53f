/** `audit follow` over kills of both sides, on the embedded store. */
import { stress } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { auditFollowOverKills } from './audit-follow-over-kills.js'
import { endChildren } from './child.js'
import { removeDirectories } from './shipped-server.js'

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

const kills = stress.follow_kills
it(
  `audit follow prints every entry, in the order of its log, over ${kills} kills`,
  async () => {
    expect(kills).toBeGreaterThan(2)
    await auditFollowOverKills(kills)
  },
  60_000 + kills * 10_000,
)
