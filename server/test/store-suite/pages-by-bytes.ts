import { expect } from 'vitest'
import type { Page, PageRequest } from '#server/ports/store/page'
import type { Store } from '#server/ports/store/store'
import {
  agentOf,
  createOf,
  decisionOf,
  idOf,
  instant,
  LogPen,
  policyOf,
  requestOf,
  writeAgentOf,
  writePolicyOf,
} from './documents.js'
import type { StoreCase } from './store-case.js'

const SMALL = 10_000
/** Three small ones with what is stored beside their texts, and not four. */
const MAX_BYTES = 35_000
const LARGE = 3 * MAX_BYTES
/** The lengths of the texts, oldest first. */
const LENGTHS = [...Array(6).fill(SMALL), LARGE, SMALL, SMALL, LARGE, LARGE]
/** What the pages have then: two large ones are pages of their own, and so is every other that does not fit beside. */
const PAGES = [1, 1, 2, 1, 3, 3]

interface ListExample {
  readonly what: string
  /** Writes a document with each text; answers its list. */
  readonly write: (
    pen: LogPen,
    texts: readonly string[],
  ) => Promise<(store: Store, page: PageRequest) => Promise<Page<unknown>>>
}

async function writeDecisions(pen: LogPen, texts: readonly string[]): Promise<void> {
  await pen.commit(...texts.map((text, number) => createOf(decisionOf(number), requestOf(number, { text }))))
}

const LISTS: readonly ListExample[] = [
  {
    what: 'decisions',
    async write(pen, texts) {
      await writeDecisions(pen, texts)
      return (store, page) => store.decisions.list({ agents: null, now: instant(0) }, page)
    },
  },
  {
    what: 'decisions of some agents',
    async write(pen, texts) {
      await writeDecisions(pen, texts)
      return (store, page) => store.decisions.list({ agents: ['agent:support-*'], now: instant(0) }, page)
    },
  },
  {
    what: 'agents',
    async write(pen, texts) {
      const registration = (text: string) => ({
        ...{ revision: 1, name: null, description: null, metadata: { text }, created_at: instant(0) },
      })
      for (const [number, text] of texts.entries()) {
        const agent = agentOf(`agent:${number}`, { registration: registration(text), known_at: instant(number) })
        await pen.commit(writeAgentOf(agent))
      }
      return (store, page) => store.agents.list(null, page)
    },
  },
  {
    what: 'policies',
    async write(pen, texts) {
      for (const [number, text] of texts.entries())
        await pen.commit(
          writePolicyOf(
            policyOf(number, number + 1, {
              document: { name: `policy ${number}`, description: text, rules: [{ action: '*', effect: 'allow' }] },
            }),
          ),
        )
      return (store, page) => store.policies.list(page)
    },
  },
  {
    what: 'revisions of a policy',
    async write(pen, texts) {
      for (const [number, text] of texts.entries())
        await pen.commit(
          writePolicyOf(
            policyOf(1, number + 1, {
              version: number + 1,
              document: { name: 'policy', description: text, rules: [{ action: '*', effect: 'allow' }] },
            }),
          ),
        )
      return (store, page) => store.policies.listRevisions(idOf('pol', 1), page)
    },
  },
  {
    what: 'audit entries',
    async write(pen, texts) {
      await pen.commit(...texts.map((text) => ({ change: { kind: 'entry.only' } as const, entry: { data: { text } } })))
      return (store, page) => store.audit.list({}, page)
    },
  },
]

export const PAGES_BY_BYTES_CASES: readonly StoreCase[] = LISTS.map(({ what, write }) => ({
  title: `fills pages of ${what} by bytes as well, and goes on where one ends`,
  async run({ store }) {
    const pen = await LogPen.of(store)
    const list = await write(
      pen,
      LENGTHS.map((length, number) => String(number).padEnd(length, '.')),
    )
    const whole = await list(store, { limit: 200, after: null })
    expect(whole.items).toHaveLength(LENGTHS.length)
    const pages: unknown[][] = []
    let pauses = 0
    const pause = async () => {
      pauses += 1
    }
    for (let after: string | null | undefined; after !== null; ) {
      const page = await list(store, { limit: 200, maxBytes: MAX_BYTES, after: after ?? null, pause })
      pages.push([...page.items])
      after = page.next
    }
    expect(pages.map((items) => items.length)).toEqual(PAGES)
    expect(pages.flat()).toEqual(whole.items)
    expect(pauses).toBe(LENGTHS.length)
    const first = await list(store, { limit: 2, maxBytes: LARGE * LENGTHS.length, after: null })
    expect(first.items).toEqual(whole.items.slice(0, 2))
    expect(first.next).not.toBeNull()
  },
}))
