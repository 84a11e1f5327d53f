import type { ApiKey, ApiKeyWithSecret, KeyCreate, Page } from '@countersign/contract'
import { call } from './client'
import { once } from './once'

const PAGE_SIZE = 200

export const listKeys = (cursor: string | undefined, signal: AbortSignal): Promise<Page<ApiKey>> =>
  call('keys.list', { query: { limit: PAGE_SIZE, cursor }, signal })

export const getKey = (id: string): Promise<ApiKey> => call('keys.get', { params: { id } })

/** A key with its secret. The secret is absent when the response was lost and the call was repeated. */
export type MaybeWithSecret = ApiKey & Partial<Pick<ApiKeyWithSecret, 'key'>>

/** @param onceKey the same for every attempt: see `once` */
export const createKey = (key: KeyCreate, onceKey: string): Promise<MaybeWithSecret> =>
  call('keys.create', { body: key, ...once(onceKey) })

/** @param onceKey the same for every attempt: see `once` */
export const rotateKey = (id: string, grace_seconds: number, onceKey: string): Promise<MaybeWithSecret> =>
  call('keys.rotate', { params: { id }, body: { grace_seconds }, ...once(onceKey) })

export const revokeKey = (id: string): Promise<void> => call('keys.revoke', { params: { id } })
