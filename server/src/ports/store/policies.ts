import type { StoredPolicy } from './documents.js'
import type { Page, PageRequest } from './page.js'

export interface PolicyStore {
  /** Loads the policies that are not deleted and the present counter (0 before the first write). */
  load(): Promise<{ readonly policy_set: number; readonly policies: readonly StoredPolicy[] }>
  /** Loads the policies that applied in the given set. */
  loadSet(policySet: number): Promise<readonly StoredPolicy[]>
  /** Lists the policies that are not deleted. */
  list(page: PageRequest): Promise<Page<StoredPolicy>>
  /** Lists every revision of a policy, deleted or not; the last one of a deleted policy has `deleted_at`. */
  listRevisions(id: string, page: PageRequest): Promise<Page<StoredPolicy>>
  /** Returns one revision of a policy, even of a deleted one. */
  getRevision(id: string, revision: number): Promise<StoredPolicy | null>
}
