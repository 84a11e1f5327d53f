import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import type { StoredAccount } from '../../ports/store/documents.js'
import type { PageRequest } from '../../ports/store/page.js'
import { fillPage, takeWanted } from './account-pages.js'

const accountOf = (spent: number): StoredAccount => ({
  policy_id: 'pol_1',
  unit: 'calls',
  period: 'total',
  agent_id: null,
  starts_at: null,
  spent: String(spent),
  reserved: '0',
})

/** Accounts of which some are wanted, as a store lists them. */
function listing(wanted: readonly boolean[]) {
  const accounts = wanted.map((_, i) => accountOf(i))
  let reads = 0
  const store = {
    async list(_: unknown, { limit, after }: PageRequest) {
      reads++
      const end = Number(after ?? 0) + limit
      return { items: accounts.slice(Number(after ?? 0), end), next: end < accounts.length ? String(end) : null }
    },
  }
  const isWanted = (account: StoredAccount) => wanted[Number(account.spent)] === true
  return {
    reads: () => reads,
    expected: accounts.filter(isWanted),
    page: (after: string | null, limit: number) =>
      fillPage({ after }, limit, async (position, room) => {
        const { items, next } = await takeWanted(store, { agents: null }, isWanted, position.after, room)
        return { items, next: next === null ? null : { after: next } }
      }),
  }
}

async function everyPage({ page }: ReturnType<typeof listing>, limit: number) {
  const pages: (readonly StoredAccount[])[] = []
  for (let after: string | null = null; ; ) {
    const { items, next } = await page(after, limit)
    pages.push(items)
    if (next === null) return pages
    after = next.after
  }
}

describe('pages of those accounts that are wanted', () => {
  it('are what was found when their time is over, and lose none', async () => {
    const source = listing(Array.from({ length: 1000 }, (_, i) => i === 999))
    const clock = vi.spyOn(performance, 'now')
    let now = 0
    clock.mockImplementation(() => {
      now += 1500
      return now
    })
    const pages = await everyPage(source, 10).finally(() => clock.mockRestore())
    expect(pages.length).toBeGreaterThan(1)
    expect(pages.flat()).toEqual(source.expected)
  })

  it('hold each of them once, in order, and are full but for the last', async () => {
    const wanted = fc.array(fc.boolean(), { maxLength: 700 })
    await fc.assert(
      fc.asyncProperty(wanted, fc.integer({ min: 1, max: 200 }), async (flags, limit) => {
        const source = listing(flags)
        const pages = await everyPage(source, limit)
        expect(pages.flat()).toEqual(source.expected)
        expect(pages.slice(0, -1).every(({ length }) => length === limit)).toBe(true)
        expect(pages).toHaveLength(Math.max(1, Math.ceil(source.expected.length / limit)))
      }),
    )
  })

  it('come short, and name the next, where too many that are not wanted lie between', async () => {
    const flags = [true, ...Array.from({ length: 30_000 }, () => false), true]
    const source = listing(flags)
    const { items, next } = await source.page(null, 10)
    expect(items).toHaveLength(1)
    expect(source.reads()).toBeLessThanOrEqual(100)
    expect((await source.page(next?.after ?? null, 10)).items).toEqual([accountOf(30_001)])
  })
})
