/** What a verifier of an export keeps in memory: as much as docs/audit.md says. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { checkpointLine, ExportVerifier, MerkleTree, RecomputedBudgets } from '@countersign/audit-log'
import { describe, expect, it } from 'vitest'
import { entryOf, noteOf, publicKey, verifyEd25519 } from './export-of.js'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

function usedBytes(): number {
  collectGarbage()
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

/** How many bytes are held after the work that were not held before. */
async function heldAfter(work: () => Promise<unknown>): Promise<number> {
  const before = usedBytes()
  const kept = await work()
  const held = usedBytes() - before
  expect(kept).toBeDefined()
  return held
}

describe('a verifier of an export', () => {
  it('keeps at most 100 bytes of each checkpoint', async () => {
    // Just behind a power of two, most of what it has reserved is not used yet. The
    // runtime itself keeps up to 200 KB of the work, which is little beside this.
    const checkpoints = 2 ** 16 + 1
    const tree = new MerkleTree()
    tree.append(new Uint8Array(32))
    const note = noteOf('log/a', tree)
    const verifier = new ExportVerifier({ verify: verifyEd25519, publicKeys: [publicKey] })
    const add = (size: number) =>
      verifier.add(new TextEncoder().encode(checkpointLine(note.replace('\n1\n', `\n${size}\n`))))
    await add(1)
    const held = await heldAfter(async () => {
      for (let size = 2; size <= checkpoints; size += 1) await add(size)
      return verifier
    })
    expect(verifier.lines).toBe(checkpoints)
    expect(held / checkpoints).toBeLessThan(110)
  })

  it('keeps about 1 KB of each decision that has a budget', async () => {
    const decisions = 5_000
    const budget = { policy_id: 'pol_1', unit: 'EUR', period: 'daily', starts_at: null, reserved: true, amount: 1.5 }
    const budgets = new RecomputedBudgets()
    const held = await heldAfter(async () => {
      for (let i = 0; i < decisions; i += 1) {
        const subject = `dec_${i}`
        const of = (version: number, data: object) =>
          entryOf('a', 2 * i + version, { subject, data: { version, ...data } })
        budgets.add(of(1, { budgets: [budget], accounts: [{ limit: 100, agent_id: null }] }))
        budgets.add(of(2, { committed: [{ policy_id: 'pol_1', unit: 'EUR', amount: 1.5, was: 0, reserved: 1.5 }] }))
      }
      return budgets
    })
    expect(budgets.accounts()).toHaveLength(1)
    expect(held / decisions).toBeLessThan(1_300)
  })
})
