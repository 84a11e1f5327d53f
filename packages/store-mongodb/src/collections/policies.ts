import type { StoredPolicy } from '@countersign/store-port/documents'
import type { Page, PageRequest } from '@countersign/store-port/store'
import { allDone } from '../connection/all-done.js'
import type { Database } from '../connection/database.js'
import type { PolicyDirectory, PolicyRevision } from '../stored.js'
import { copyToLog } from './audit.js'
import { hasRoom } from './directory-room.js'
import { rowsAtOnce, takePage } from './pages.js'

/** The one document of the directory. */
export const POLICIES = 'policies'

/** `until_set` of a revision that counts still. */
const OPEN = Number.MAX_SAFE_INTEGER

/** The directory, once what its last record wrote is among the revisions. */
async function readPolicyDirectory(database: Database): Promise<PolicyDirectory> {
  const directory = (await database.call(() => database.policyDirectory.findOne({ _id: POLICIES }))) as PolicyDirectory
  await keepPolicyRevision(database, directory)
  return directory
}

/** Puts what the last record of the directory wrote among the revisions. It does the same however often it is done. */
export async function keepPolicyRevision(
  database: Database,
  { written }: Pick<PolicyDirectory, 'written'>,
): Promise<void> {
  if (written === null) return
  const policy = JSON.parse(written) as StoredPolicy
  const { id, version, policy_set, deleted_at } = policy
  await database.call(() =>
    database.policies.updateMany(
      { policy_id: id, until_set: OPEN, from_set: { $lt: policy_set } },
      { $set: { until_set: policy_set, deleted_at } },
    ),
  )
  if (deleted_at !== null) return
  const revision: PolicyRevision = {
    _id: `${id}/${version}`,
    policy_id: id,
    version,
    from_set: policy_set,
    until_set: OPEN,
    deleted_at: null,
    document: written,
  }
  await database.insertNew(database.policies, [revision])
}

/** Finishes what the last record of the directory began: its revision and its entry. */
export async function finishPolicyRecord(database: Database, directory: PolicyDirectory): Promise<void> {
  await allDone([keepPolicyRevision(database, directory), copyToLog(database, [directory.last])])
}

/** A policy can always be deleted, or changed under its name. */
export function hasRoomForPolicy(
  live: PolicyDirectory['live'],
  { id, version, document: { name } }: StoredPolicy,
): boolean {
  const present = live[id]
  if (present?.name === name) return true
  return hasRoom({ ...live, [id]: { version, name } }, present === undefined ? 'new' : 'more')
}

/** A deletion raised the version by one, though it is no revision. 0 for a policy that never was. */
export async function lastVersion(database: Database, id: string): Promise<number> {
  const last = await database.call(() =>
    database.policies.findOne({ policy_id: { $eq: id } }, { sort: { version: -1 }, projection: { document: 0 } }),
  )
  if (last === null) return 0
  return last.version + (last.deleted_at === null ? 0 : 1)
}

export async function loadPolicies(
  database: Database,
): Promise<{ readonly policy_set: number; readonly policies: readonly StoredPolicy[] }> {
  const { policy_set } = await readPolicyDirectory(database)
  return { policy_set, policies: await loadPoliciesOfSet(database, policy_set) }
}

/** Of a set that is among the revisions: nothing changes it any more. */
export async function loadPoliciesOfSet(database: Database, policySet: number): Promise<readonly StoredPolicy[]> {
  const found = await database.call(() =>
    database.policies.find({ until_set: { $gt: policySet }, from_set: { $lte: policySet } }).toArray(),
  )
  return found.map(policyOf)
}

export async function listPolicies(database: Database, page: PageRequest): Promise<Page<StoredPolicy>> {
  const { live } = await readPolicyDirectory(database)
  const ids = Object.keys(live)
    .filter((id) => page.after === null || id < page.after)
    .sort()
    .reverse()
  const count = rowsAtOnce(page)
  async function* revisions() {
    for (let done = 0; done < ids.length; done += count) {
      const names = ids.slice(done, done + count).map((id) => `${id}/${live[id]?.version}`)
      const found = await database.call(() => database.policies.find({ _id: { $in: names } }).toArray())
      yield* found.sort((one, other) => (one.policy_id < other.policy_id ? 1 : -1))
    }
  }
  return takePage(revisions(), page, { make: policyOf, nameOf: ({ policy_id }) => policy_id })
}

export async function listPolicyRevisions(
  database: Database,
  id: string,
  page: PageRequest,
): Promise<Page<StoredPolicy>> {
  await readPolicyDirectory(database)
  const count = rowsAtOnce(page)
  async function* revisions() {
    for (let before = page.after === null ? OPEN : Number(page.after); ; ) {
      const found = await database.call(() =>
        database.policies
          .find({ policy_id: { $eq: id }, version: { $lt: before } })
          .sort({ version: -1 })
          .limit(count)
          .toArray(),
      )
      yield* found
      if (found.length < count) return
      before = found.at(-1)?.version as number
    }
  }
  return takePage(revisions(), page, {
    make: revisionOf,
    nameOf: ({ version }) => String(version),
  })
}

/** One revision of a policy, of a deleted one too. */
export async function findPolicyRevision(
  database: Database,
  id: string,
  revision: number,
): Promise<StoredPolicy | null> {
  await readPolicyDirectory(database)
  const found = await database.findById(database.policies, `${id}/${revision}`)
  return found === null ? null : revisionOf(found)
}

/** As it is now: the last one of a deleted policy says when it was deleted. */
function revisionOf(revision: PolicyRevision): StoredPolicy {
  return { ...policyOf(revision), deleted_at: revision.deleted_at }
}

function policyOf({ document }: PolicyRevision): StoredPolicy {
  return JSON.parse(document)
}
