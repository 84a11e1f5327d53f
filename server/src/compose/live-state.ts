/** The in-memory state of the store, and how it stays up to date. */
import { Agents } from '../state/agents.js'
import { ApprovalEnds } from '../state/approval-ends.js'
import { Changes } from '../state/changes.js'
import { FollowedStore } from '../state/followed-store.js'
import { alwaysFresh, ConfirmedFreshness } from '../state/freshness.js'
import { Keys } from '../state/keys.js'
import { LongPolls } from '../state/long-polls.js'
import { OwnOpenReviews } from '../state/open-reviews.js'
import { Policies } from '../state/policies.js'
import { SharedOpenReviews } from '../state/shared-open-reviews.js'
import { SignInCodes } from '../state/sign-in-codes.js'
import { StoreMutex } from '../state/store-mutex.js'
import { isAwaitingReview } from '../use-cases/decisions/get.js'
import { expireOverdue } from '../use-cases/decisions/transitions/expire.js'
import type { Base } from './parts.js'
import type { SigningKeys } from './signing-keys.js'
import { wipeFiles } from './wipe-files.js'

type LiveState = Awaited<ReturnType<typeof loadLiveState>>

/** Everything that requests and jobs work with. */
export interface Core extends Base, SigningKeys, LiveState {}

/** @throws StoreUnavailableError */
export async function loadLiveState(
  { config, clock, log, store, writer, isServing }: Base,
  { sharedKeys }: SigningKeys,
) {
  const policies = new Policies(await store.policies.load())
  const agents = new Agents(await store.agents.load())
  const keys = new Keys(await store.keys.load(), await store.keys.loadUses())
  const limits = { perAgent: config.maxOpenReviews, perKey: config.maxOpenReviewsPerKey }
  const openReviews =
    store.replicas === null
      ? new OwnOpenReviews(await store.decisions.listOpenReviews(clock.now().toISOString()), limits)
      : new SharedOpenReviews(store.replicas.reviewSlots, limits, (err) =>
          log.error({ err }, 'a review slot could not be released'),
        )

  const reload = {
    policies: async () => policies.load(await store.policies.load()),
    agents: async () => agents.load(await store.agents.load()),
    keys: () => reloadKeys(store, keys, log),
    signing_keys: async () => sharedKeys?.load(),
  }
  const confirmed = store.replicas && new ConfirmedFreshness()
  const followed = store.replicas && confirmed && new FollowedStore(store.replicas, reload, confirmed)
  const changes = new Changes({
    reload: async () => {
      await Promise.all([reload.policies(), reload.agents(), reload.keys()])
    },
    ...(followed && { catchUp: () => followed.catchUp() }),
    assertKeyIsLive: (keyId) => keys.assertLive(keyId, clock.now().toISOString()),
    onReload: (err) => log.warn({ err }, 'a change met a conflict or its outcome is unknown; reloading from the store'),
  })
  await followed?.catchUp()

  const approvalEnds = new ApprovalEnds(await store.decisions.firstApprovalEnd())
  const mutex = new StoreMutex()
  return {
    policies,
    agents,
    keys,
    signInCodes: new SignInCodes(),
    openReviews,
    changes,
    freshness: confirmed ?? alwaysFresh,
    /** Null when the store is not shared. */
    followed,
    approvalEnds,
    mutex,
    longPolls: new LongPolls((id) => isAwaitingReview({ store, clock }, id)),
    wipeFiles: () => wipeFiles({ store, log, isServing }),
    expireOverdue: () => expireOverdue({ clock, store, writer, openReviews, mutex, approvalEnds }),
  }
}

/**
 * Dropping a damaged key only removes rights, so it is left out. Dropping a policy or an agent could add rights, so
 * that reload fails, as the start does.
 */
async function reloadKeys(store: Base['store'], keys: Keys, log: Base['log']): Promise<void> {
  const unusable: string[] = []
  const sound = await store.keys.load((err) => {
    log.error({ err }, 'a key is no longer accepted: its row is damaged')
    unusable.push(err.id, String(err.stored))
  })
  keys.load(sound, unusable)
}
