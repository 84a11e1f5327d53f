import type { ApiKey, ApiKeyWithSecret, KeyCreate, Page } from '@countersign/contract'
import { call, get, post } from './client'
import { once } from './once'

const PAGE_SIZE = 200

const pathOf = (id: string) => `/keys/${encodeURIComponent(id)}`

export const listKeys = (cursor: string | undefined, signal: AbortSignal): Promise<Page<ApiKey>> =>
  get('/keys', { query: { limit: PAGE_SIZE, cursor }, signal })

export const getKey = (id: string): Promise<ApiKey> => get(pathOf(id))

/** A key with its secret; without, when the answer that had it was lost and the call was repeated. */
export type MaybeWithSecret = ApiKey & Partial<Pick<ApiKeyWithSecret, 'key'>>

/** @param onceKey of all tries, as `once` takes it */
export const createKey = (key: KeyCreate, onceKey: string): Promise<MaybeWithSecret> =>
  post('/keys', key, once(onceKey))

/** @param onceKey of all tries, as `once` takes it */
export const rotateKey = (id: string, grace_seconds: number, onceKey: string): Promise<MaybeWithSecret> =>
  post(`${pathOf(id)}/rotate`, { grace_seconds }, once(onceKey))

export const revokeKey = (id: string): Promise<void> => call('DELETE', pathOf(id))
