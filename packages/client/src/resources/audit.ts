import { path, type Query } from '../call.js'
import { UnavailableError } from '../errors/unavailable-error.js'
import { LinesError, linesOf } from '../lines.js'
import type { CallOptions, CallSignal } from '../options.js'
import { type PageQuery, type Pages, pagesOf } from '../pages.js'
import type { Requester } from '../requester.js'
import type { AuditEntry, AuditType, Checkpoints, ConsistencyProof, DecisionProof, ErasedRequests } from '../wire.js'

/** All filters have to fit; an absent one fits everything. */
export interface AuditQuery extends PageQuery {
  readonly type?: AuditType | undefined
  readonly agent_id?: string | undefined
  readonly decision_id?: string | undefined
  /** At this time or later. */
  readonly from?: string | undefined
  /** Before this time. */
  readonly to?: string | undefined
}

/** Which earlier checkpoint the newest one is to go on from. */
export interface ConsistencyQuery {
  /** The name of a log. Default: the root log. */
  readonly log?: string | undefined
  /** The size of the earlier checkpoint. */
  readonly from: number
}

/** The server waits for a checkpoint for so long. */
const PROOF_WAIT_MS = 3_000
/** The server waits until its files are wiped for so long. */
const WIPE_WAIT_MS = 5_000
/** How long the server may be silent in the middle of an export. */
const EXPORT_SILENCE_MS = 45_000

/** The answers are not verified here: `@countersign/audit-log` does that. Source: docs/sdk.md "Methods". */
export class Audit {
  readonly #requester: Requester

  /** @internal */
  constructor(requester: Requester) {
    this.#requester = requester
  }

  /** Every decision, every transition of one, and every change, newest first. */
  list(query: AuditQuery = {}, options?: CallOptions): Pages<AuditEntry> {
    return pagesOf(this.#requester, '/v1/audit', { ...query }, options)
  }

  /** The newest signed checkpoint of each log, and of the root log over them. */
  async checkpoints(options?: CallOptions): Promise<Checkpoints> {
    return (await this.#requester.send({ method: 'GET', path: '/v1/audit/checkpoints', options })) as Checkpoints
  }

  /**
   * That the entries of a decision are in the audit log. It waits up to three seconds, on top of `timeoutMs`, for the checkpoint of
   * an entry that is under none yet; `inclusion` is null if there is none then.
   *
   * @throws ApiError not_found
   */
  async proof(decisionId: string, options?: CallOptions): Promise<DecisionProof> {
    const query = { decision_id: decisionId }
    const call = { method: 'GET', path: '/v1/audit/proof', query, extraTimeMs: PROOF_WAIT_MS, options } as const
    return (await this.#requester.send(call)) as DecisionProof
  }

  /**
   * That the newest checkpoint of a log goes on from an earlier one.
   *
   * @throws ApiError not_found for a log without a checkpoint, validation_failed when `from` is larger than the newest one
   */
  async consistency({ log, from }: ConsistencyQuery, options?: CallOptions): Promise<ConsistencyProof> {
    const call = { method: 'GET', path: '/v1/audit/consistency', query: { log, from }, options } as const
    return (await this.#requester.send(call)) as ConsistencyProof
  }

  /**
   * The lines of an export, without their newlines: the exact bytes, as `ExportVerifier` of `@countersign/audit-log` takes them.
   * It asks once, and `timeoutMs` does not apply. Whatever `signal` is aborted with is thrown.
   *
   * @throws ApiError
   * @throws UnavailableError also when the export breaks off: it cannot be gone on with
   */
  async *export(options: { readonly signal?: CallSignal } = {}): AsyncGenerator<Uint8Array, void, undefined> {
    const call = { method: 'GET', path: '/v1/audit/export', options: undefined } as const
    try {
      yield* this.#requester.lasting(options.signal, (lasting) =>
        linesOf(this.#requester.stream(call, 'application/x-ndjson', EXPORT_SILENCE_MS, lasting)),
      )
    } catch (error) {
      if (!(error instanceof LinesError)) throw error
      throw new UnavailableError('bad_answer', `GET ${call.path}: ${error.message}`, { status: 200 })
    }
  }

  /**
   * Erases the request of a decision for good: its resource, its context and its hash. The decision stays, and its proofs stay
   * valid. A permit that was handed out before is in force until it ends. Erasing it again is not an error. The server may take
   * five seconds on top of `timeoutMs` to wipe its files.
   *
   * @throws ApiError not_found
   */
  async eraseRequest(decisionId: string, options?: CallOptions): Promise<void> {
    await this.#erase(path`/v1/audit/requests/${decisionId}`, {}, options)
  }

  /**
   * Erases all requests of an agent for good, as `eraseRequest` does. A thousand take about a second: give it a `timeoutMs`. After
   * an error the server may go on, or have erased some of them. Call it again, and it erases the others.
   *
   * @returns how many this call has erased. After a lost answer the client asks again, and counts those that were left
   */
  async eraseRequests({ agent_id }: { readonly agent_id: string }, options?: CallOptions): Promise<ErasedRequests> {
    return (await this.#erase('/v1/audit/requests', { agent_id }, options)) as ErasedRequests
  }

  #erase(to: string, query: Query, options: CallOptions | undefined): Promise<unknown> {
    return this.#requester.send({ method: 'DELETE', path: to, query, extraTimeMs: WIPE_WAIT_MS, options })
  }
}
