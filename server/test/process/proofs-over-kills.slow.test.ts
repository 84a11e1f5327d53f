import { stress } from '@countersign/testkit'
import { afterEach, it } from 'vitest'
import { endChildren } from './child.js'
import { proofsOverKills } from './proofs-over-kills.js'
import { removeDirectories } from './shipped-server.js'

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

it('every acknowledged permit proves to a checkpoint, and no checkpoint is taken back, over kills under load', () =>
  proofsOverKills({ kills: stress.proof_kills }))
