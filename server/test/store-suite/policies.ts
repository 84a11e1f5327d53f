import { expect } from 'vitest'
import type { StoredPolicy } from '#server/ports/store/documents'
import type { Store } from '#server/ports/store/store'
import { instant, LogPen, policyOf, writePolicyOf } from './documents.js'
import { type StoreCase, WHOLE, walk } from './store-case.js'

function byId(one: StoredPolicy, other: StoredPolicy): number {
  return one.id < other.id ? -1 : 1
}

/** The next revision of a policy, as the write of a set. */
function revised(policy: StoredPolicy, policySet: number, name = policy.document.name): StoredPolicy {
  return {
    ...policy,
    version: policy.version + 1,
    policy_set: policySet,
    updated_at: instant(100 + policySet),
    document: { ...policy.document, name, priority: policySet },
  }
}

function deleted(policy: StoredPolicy, policySet: number): StoredPolicy {
  return { ...policy, version: policy.version + 1, policy_set: policySet, deleted_at: instant(100 + policySet) }
}

export const POLICY_CASES: readonly StoreCase[] = [
  {
    title: 'knows no policy and set 0 before the first write',
    async run({ store }) {
      expect(await store.policies.load()).toEqual({ policy_set: 0, policies: [] })
      expect(await store.policies.loadSet(0)).toEqual([])
      expect(await store.policies.list(WHOLE)).toEqual({ items: [], next: null })
      expect(await store.policies.listRevisions('pol_none', WHOLE)).toEqual({ items: [], next: null })
    },
  },
  {
    title: 'gives back each policy as it was last written',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const first = policyOf(1, 1, {
        document: {
          name: 'a\u0000name "of" ☃',
          description: '',
          priority: -5,
          agents: ['agent:*'],
          rules: [{ action: '*', effect: 'deny', conditions: { $not: { 'context.a': { $in: [1e-7, 'x', false] } } } }],
        },
      })
      const [second, third] = [policyOf(2, 2, { created_by: null, updated_by: null }), revised(first, 3)]
      await pen.commit(writePolicyOf(first), writePolicyOf(second), writePolicyOf(third))
      const load = async (from: Store) => {
        const { policy_set, policies } = await from.policies.load()
        return { policy_set, policies: [...policies].sort(byId) }
      }
      const expected = { policy_set: 3, policies: [third, second] }
      expect(await load(store)).toStrictEqual(expected)
      expect(await load(await reopen())).toStrictEqual(expected)
    },
  },
  {
    title: 'gives the policies that were live in each set',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const [a1, b1] = [policyOf(1, 1), policyOf(2, 2)]
      const [a2, b3] = [revised(a1, 3), revised(b1, 5)]
      await pen.commit(
        ...[a1, b1, a2, deleted(a2, 4), b3, policyOf(3, 6), deleted(b3, 7)].map((policy) => writePolicyOf(policy)),
      )
      const reopened = await reopen()
      const sets = await Promise.all([0, 1, 2, 3, 4, 5, 6, 7, 8].map((set) => reopened.policies.loadSet(set)))
      const live = [[], [a1], [a1, b1], [a2, b1], [b1], [b3], [b3, policyOf(3, 6)], [policyOf(3, 6)], [policyOf(3, 6)]]
      expect(sets.map((set) => [...set].sort(byId))).toStrictEqual(live)
      expect(await reopened.policies.load()).toEqual({ policy_set: 7, policies: [policyOf(3, 6)] })
    },
  },
  {
    title: 'frees the name of a deleted and of a renamed policy at once',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const named = (number: number, set: number, name: string) =>
        policyOf(number, set, { document: { name, rules: [{ action: '*', effect: 'allow' }] } })
      const first = named(1, 1, 'one')
      const second = named(2, 3, 'one')
      expect(await pen.commit(writePolicyOf(first), writePolicyOf(deleted(first, 2)), writePolicyOf(second))).toEqual({
        written: 3,
        conflict: null,
      })
      const renamed = revised(second, 4, 'two')
      expect(await pen.commit(writePolicyOf(renamed), writePolicyOf(named(3, 5, 'one')))).toEqual({
        written: 2,
        conflict: null,
      })
      expect(await pen.commit(writePolicyOf(revised(renamed, 6, 'one')))).toEqual({
        written: 0,
        conflict: 'policy_name',
      })
      expect(await pen.commit(writePolicyOf(revised(renamed, 6, 'two')))).toEqual({ written: 1, conflict: null })
    },
  },
  {
    title: 'tells names apart by each character',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const names = ['name', 'Name', 'name ', 'nam\u0065\u0301', 'nam\u00e9', 'name\u0000', 'name\u0000x']
      const writes = names.map((name, i) =>
        writePolicyOf(policyOf(i + 1, i + 1, { document: { name, rules: [{ action: '*', effect: 'allow' }] } })),
      )
      expect(await pen.commit(...writes)).toEqual({ written: names.length, conflict: null })
      expect((await store.policies.load()).policies.map(({ document }) => document.name).sort()).toEqual(
        [...names].sort(),
      )
    },
  },
  {
    title: 'lets nobody change or delete a deleted policy from the version before',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const policy = policyOf(1, 1)
      await pen.commit(writePolicyOf(policy), writePolicyOf(deleted(policy, 2)))
      expect(await pen.commit(writePolicyOf(revised(policy, 3)))).toEqual({ written: 0, conflict: 'version' })
      expect(await pen.commit(writePolicyOf(deleted(policy, 3)))).toEqual({ written: 0, conflict: 'version' })
      expect(await pen.commit(writePolicyOf(policyOf(1, 3)))).toEqual({ written: 0, conflict: 'version' })
      expect(await store.policies.load()).toEqual({ policy_set: 2, policies: [] })
    },
  },
  {
    title: 'lists live policies newest first, page by page, while others are written',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const policies = [1, 2, 3, 4, 5, 6, 7].map((number) => policyOf(number, number))
      await pen.commit(...policies.map((policy) => writePolicyOf(policy)))
      const gone = policies[2] as StoredPolicy
      await pen.commit(writePolicyOf(deleted(gone, 8)))
      const live = policies.filter((policy) => policy !== gone).reverse()
      for (const limit of [1, 2, 3, 6, 200])
        expect(await walk(limit, (page) => store.policies.list(page))).toEqual(live)
      let set = 9
      const seen = await walk(2, async (page) => {
        const result = await store.policies.list(page)
        await pen.commit(writePolicyOf(policyOf(100 + set, set)))
        set += 1
        return result
      })
      expect(seen).toEqual(live)
    },
  },
  {
    title: 'lists every revision of a policy newest first, also after its deletion, which is none',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const revisions = [policyOf(1, 1)]
      for (let set = 2; set <= 5; set += 1) revisions.push(revised(revisions.at(-1) as StoredPolicy, set))
      await pen.commit(...revisions.map((policy) => writePolicyOf(policy)), writePolicyOf(policyOf(2, 6)))
      const id = revisions[0]?.id as string
      const newest = revisions.toReversed()
      for (const limit of [1, 2, 5, 200]) {
        expect(await walk(limit, (page) => store.policies.listRevisions(id, page))).toStrictEqual(newest)
      }
      const gone = deleted(newest[0] as StoredPolicy, 7)
      await pen.commit(writePolicyOf(gone))
      const reopened = await reopen()
      const [last, ...earlier] = newest
      expect((await reopened.policies.listRevisions(id, WHOLE)).items).toStrictEqual([
        { ...last, deleted_at: gone.deleted_at },
        ...earlier,
      ])
    },
  },
]
