import type { KeyObject } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import type { PermitClaims } from '@countersign/contract'
import { signatureOf, unsignedPermit } from '../mint.js'
import type { SigningKey } from '../signing-key.js'

/** A permit that lacks only its signature, and the key to sign it with. */
interface UnsignedPermit {
  readonly privateKey: KeyObject
  readonly text: string
}

export interface UnsignedBatch {
  readonly number: number
  readonly permits: readonly UnsignedPermit[]
}

/** A signature is null when it could not be made. */
export interface SignedBatch {
  readonly number: number
  readonly signatures: readonly (string | null)[]
}

interface Wanted extends UnsignedPermit {
  readonly resolve: (permit: string) => void
  readonly reject: (error: unknown) => void
}

/**
 * Signs permits. A single permit is signed on the calling thread, which is fastest. Permits that are requested in one
 * step are signed on an extra thread, which wakes the calling one once for all of them. Until that thread runs, and
 * after it has ended, the calling thread signs. The extra thread starts when it is first needed, and keeps the process
 * alive only while it signs.
 */
export class PermitSigner {
  #wanted: Wanted[] = []
  /** The permits that the thread is signing, by batch number. */
  readonly #sent = new Map<number, readonly Wanted[]>()
  #batches = 0
  #thread: Worker | null = null
  #state: 'idle' | 'starting' | 'running' | 'ended' = 'idle'

  /**
   * Returns the same token as `mintPermit`.
   *
   * Rejects as `mintPermit` does.
   */
  sign(key: SigningKey, claims: PermitClaims): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#wanted.push({ privateKey: key.privateKey, text: unsignedPermit(key, claims), resolve, reject })
      if (this.#wanted.length === 1) queueMicrotask(() => this.#leave())
    })
  }

  /** Ends the extra thread. The calling thread signs what that thread has not signed, and all later permits. */
  async close(): Promise<void> {
    this.#state = 'ended'
    await this.#thread?.terminate()
  }

  #leave(): void {
    const wanted = this.#wanted
    this.#wanted = []
    const isAlone = wanted.length === 1 && this.#sent.size === 0
    if (!isAlone && this.#state === 'idle') this.#start()
    if (isAlone || this.#state !== 'running' || !this.#send(wanted)) signHere(wanted)
  }

  /** Returns false when the thread cannot receive them. */
  #send(wanted: readonly Wanted[]): boolean {
    this.#batches += 1
    const permits = wanted.map(({ privateKey, text }) => ({ privateKey, text }))
    try {
      this.#thread?.postMessage({ number: this.#batches, permits } satisfies UnsignedBatch)
    } catch (error) {
      this.#end(error)
      return false
    }
    this.#sent.set(this.#batches, wanted)
    this.#thread?.ref()
    return true
  }

  #start(): void {
    this.#state = 'starting'
    try {
      // Flags such as --input-type are for the program that signs, and would stop the thread.
      const thread = new Worker(new URL('./worker.js', import.meta.url), { execArgv: [] })
      thread.on('message', (answer: 'ready' | SignedBatch) => this.#take(thread, answer))
      thread.on('messageerror', (error) => this.#end(error))
      thread.on('error', (error) => this.#end(error))
      thread.on('exit', () => {
        this.#end(new Error('It exited.'))
        for (const wanted of this.#sent.values()) signHere(wanted)
        this.#sent.clear()
      })
      // Called after the listeners are added, because a message listener keeps the process alive again.
      thread.unref()
      this.#thread = thread
    } catch (error) {
      // For example, a limit of threads.
      this.#end(error)
    }
  }

  #take(thread: Worker, answer: 'ready' | SignedBatch): void {
    if (answer === 'ready') {
      if (this.#state === 'starting') this.#state = 'running'
      return
    }
    const wanted = this.#sent.get(answer.number) ?? []
    this.#sent.delete(answer.number)
    for (const [i, one] of wanted.entries()) {
      const signature = answer.signatures[i]
      if (typeof signature === 'string') one.resolve(`${one.text}.${signature}`)
      else signHere([one])
    }
    if (this.#sent.size === 0 && this.#state === 'running') thread.unref()
  }

  /** The permits that the thread is signing are signed here when it exits. */
  #end(error: unknown): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    const reason = error instanceof Error ? error.message : String(error)
    process.emitWarning(`The thread that signs permits has ended, so the calling thread signs: ${reason}`, {
      type: 'CountersignWarning',
      code: 'COUNTERSIGN_SIGNING_THREAD_ENDED',
    })
    void this.#thread?.terminate()
  }
}

function signHere(wanted: readonly Wanted[]): void {
  for (const { privateKey, text, resolve, reject } of wanted)
    try {
      resolve(`${text}.${signatureOf(privateKey, text)}`)
    } catch (error) {
      reject(error)
    }
}
