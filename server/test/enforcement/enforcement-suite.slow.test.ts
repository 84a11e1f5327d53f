/** Protected functions, the parts of the SDK by themselves, and the skeleton of an integration, against the real server. */
import { readFile } from 'node:fs/promises'
import { enforcementSuite } from '@countersign/testkit/enforcement-suite'
import { expect, it } from 'vitest'
import { ownSettlementAdapter } from './own-settlements.js'
import { protectAdapter } from './plain-functions.js'
import { useDecisionPoint } from './running-point.js'
import { skeletonAdapter } from './skeleton-adapter.js'

const point = useDecisionPoint()
enforcementSuite(protectAdapter, point)
enforcementSuite(ownSettlementAdapter, point)
enforcementSuite(skeletonAdapter, point)

it('is the skeleton that CONTRIBUTING.md shows', async () => {
  const [skeleton, page] = await Promise.all([
    readFile(new URL('skeleton-integration.ts', import.meta.url), 'utf8'),
    readFile(new URL('../../../CONTRIBUTING.md', import.meta.url), 'utf8'),
  ])
  expect(page).toContain(skeleton.slice(skeleton.indexOf('/** The ways with a review')))
})
