import { nameOf } from '../call.js'
import { AUDIT_ENDPOINTS } from '../endpoints.js'
import { UnavailableError } from '../errors/unavailable-error.js'
import type { AuditFollowQuery, FollowedPage, FollowOptions } from '../follow-options.js'
import { followAudit } from '../followed-audit.js'
import { LinesError, linesOf } from '../lines.js'
import { answerOf, callOf } from '../operation.js'
import type { CallOptions, CallSignal } from '../options.js'
import { type PageQuery, type Pages, pagesOf } from '../pages.js'
import type { StreamRequester } from '../stream-requester.js'
import type {
  AuditEntry,
  AuditRecord,
  AuditRecordKind,
  AuditType,
  Checkpoints,
  ConsistencyProof,
  DecisionProof,
  ErasedRequests,
} from '../wire.js'

/** All filters must match; an absent one matches everything. */
export interface AuditQuery extends PageQuery {
  readonly type?: AuditType | undefined
  readonly agent_id?: string | undefined
  readonly decision_id?: string | undefined
  /** At this time or later. */
  readonly from?: string | undefined
  /** Before this time. */
  readonly to?: string | undefined
}

/** Selects records. Each kind needs its own read scope besides `audit:read`. */
export interface AuditRecordQuery extends PageQuery {
  readonly kind: AuditRecordKind
  /** The id of one record, or of one policy with all its revisions. Not for accounts. */
  readonly id?: string | undefined
}

/** Selects the earlier checkpoint that the newest one must extend. */
export interface ConsistencyQuery {
  /** The name of a log. Default: the root log. */
  readonly log?: string | undefined
  /** The size of the earlier checkpoint. */
  readonly from: number
}

/** How long the server waits for a checkpoint. */
const PROOF_WAIT_MS = 3_000
/** How long the server waits until its files are wiped. */
const WIPE_WAIT_MS = 5_000
/** How long the server may be silent during an export. */
const EXPORT_SILENCE_MS = 45_000

/**
 * Reads the audit log. It does not verify the answers; use `@countersign/audit-log` for that. Source:
 * docs/sdk-methods.md "Methods".
 */
export class Audit {
  readonly #requester: StreamRequester

  /** @internal */
  constructor(requester: StreamRequester) {
    this.#requester = requester
  }

  /** Lists every decision, every transition of one, and every change, newest first. */
  list(query: AuditQuery = {}, options?: CallOptions): Pages<AuditEntry> {
    return pagesOf(this.#requester, AUDIT_ENDPOINTS['audit.list'], { query, options })
  }

  /**
   * Yields the entries oldest first, page by page, and those that come later. Each log is in order and without a gap.
   * Continues after lost connections and restarts of the server, and looks for new entries every second. Handle `data`,
   * then keep `next_cursor`: a reader that continues from there misses nothing. Ends with the signal, a `break`, or with
   * `untilEnd` when no entry is left.
   *
   * @throws ApiError invalid_cursor when the cursor is of another server, or the log was rewritten or restored;
   *   validation_failed, unauthorized, insufficient_scope, …
   * @throws UnavailableError when the answer is not a page, or the client is closed
   *
   * @example
   * for await (const { data, next_cursor } of client.audit.follow({ after: 'now' })) console.log(data.length, next_cursor)
   */
  follow(query: AuditFollowQuery = {}, options: FollowOptions = {}): AsyncGenerator<FollowedPage, void, undefined> {
    return followAudit(this.#requester, { ...query }, options)
  }

  /**
   * Lists records as the server stores them, with everything that the audit log binds: of policies the present
   * revisions.
   */
  records(query: AuditRecordQuery, options?: CallOptions): Pages<AuditRecord> {
    return pagesOf(this.#requester, AUDIT_ENDPOINTS['audit.records'], { query, options })
  }

  /** Returns the newest signed checkpoint of each log, and of the root log over them. */
  async checkpoints(options?: CallOptions): Promise<Checkpoints> {
    return answerOf(this.#requester, AUDIT_ENDPOINTS['audit.checkpoints'], { options })
  }

  /**
   * Proves that the entries of a decision are in the audit log. Waits up to three seconds, on top of `timeoutMs`, for
   * the checkpoint of an entry that none covers yet; if there is still none, `inclusion` is null.
   *
   * @throws ApiError not_found
   */
  async proof(decisionId: string, options?: CallOptions): Promise<DecisionProof> {
    const query = { decision_id: decisionId }
    return answerOf(this.#requester, AUDIT_ENDPOINTS['audit.proof'], { query, extraTimeMs: PROOF_WAIT_MS, options })
  }

  /**
   * Proves that the newest checkpoint of a log extends an earlier one.
   *
   * @throws ApiError not_found for a log without a checkpoint, validation_failed when `from` is larger than the newest
   *   one
   */
  async consistency({ log, from }: ConsistencyQuery, options?: CallOptions): Promise<ConsistencyProof> {
    return answerOf(this.#requester, AUDIT_ENDPOINTS['audit.consistency'], { query: { log, from }, options })
  }

  /**
   * Yields the lines of an export, without their newlines: the exact bytes, as `ExportVerifier` of
   * `@countersign/audit-log` reads them. Makes one attempt, and ignores `timeoutMs`. Throws the reason of `signal` when
   * it is aborted.
   *
   * @throws ApiError
   * @throws UnavailableError also when the export breaks off: it cannot be continued
   */
  async *export(options: { readonly signal?: CallSignal } = {}): AsyncGenerator<Uint8Array, void, undefined> {
    const call = callOf(AUDIT_ENDPOINTS['audit.export'], { options: undefined })
    try {
      yield* this.#requester.lasting(options.signal, (lasting) =>
        linesOf(this.#requester.stream(call, 'application/x-ndjson', EXPORT_SILENCE_MS, lasting)),
      )
    } catch (error) {
      if (!(error instanceof LinesError)) throw error
      throw new UnavailableError('bad_answer', `${nameOf(call)}: ${error.message}`, { status: 200 })
    }
  }

  /**
   * Permanently erases the request of a decision: its resource, its context and its hash. The decision stays, and its
   * proofs stay valid. A permit that was issued before stays valid until it expires. Erasing it again is not an error.
   * The server may take five seconds on top of `timeoutMs` to wipe its files.
   *
   * @throws ApiError not_found
   */
  async eraseRequest(decisionId: string, options?: CallOptions): Promise<void> {
    return answerOf(this.#requester, AUDIT_ENDPOINTS['audit.eraseRequest'], {
      params: { decision_id: decisionId },
      extraTimeMs: WIPE_WAIT_MS,
      options,
    })
  }

  /**
   * Permanently erases all requests of an agent, as `eraseRequest` does. A thousand take about a second, so set
   * `timeoutMs`. After an error the server may continue, or have erased some of them. Call it again to erase the rest.
   *
   * @returns how many this call has erased. After a lost answer the client asks again, and counts those that were left
   */
  async eraseRequests({ agent_id }: { readonly agent_id: string }, options?: CallOptions): Promise<ErasedRequests> {
    const query = { agent_id }
    return answerOf(this.#requester, AUDIT_ENDPOINTS['audit.eraseRequests'], {
      query,
      extraTimeMs: WIPE_WAIT_MS,
      options,
    })
  }
}
