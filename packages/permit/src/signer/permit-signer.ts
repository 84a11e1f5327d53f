import type { KeyObject } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import type { PermitClaims } from '@countersign/contract'
import { signPermit, unsignedPermit } from '../mint.js'
import type { SigningKey } from '../signing-key.js'

/** A permit that lacks only its signature. */
export interface UnsignedPermit {
  readonly privateKey: KeyObject
  readonly text: string
}

interface Wanted extends UnsignedPermit {
  readonly resolve: (permit: string) => void
  readonly reject: (error: unknown) => void
}

/**
 * Signs a permit that is wanted alone on the calling thread: that is fastest. Permits that are wanted together are signed on
 * a thread of their own, which wakes the calling one once for all of them. The thread starts when it is first needed. It keeps
 * the process alive only while it signs.
 */
export class PermitSigner {
  #wanted: Wanted[] = []
  /** What the thread has, in the order in which it answers. */
  readonly #sent: (readonly Wanted[])[] = []
  #thread: Worker | null = null
  #isRunning = false

  /**
   * The same token as that of `mintPermit`.
   *
   * Rejects as `mintPermit` does.
   */
  sign(key: SigningKey, claims: PermitClaims): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#wanted.push({ privateKey: key.privateKey, text: unsignedPermit(key, claims), resolve, reject })
      if (this.#wanted.length === 1) queueMicrotask(() => this.#leave())
    })
  }

  /** Ends the thread. What it has not signed yet, and what is wanted later, is signed on the calling thread. */
  async close(): Promise<void> {
    await this.#thread?.terminate()
  }

  #leave(): void {
    const wanted = this.#wanted
    this.#wanted = []
    const isAlone = wanted.length === 1 && this.#sent.length === 0
    if (!isAlone) this.#thread ??= this.#startThread()
    if (isAlone || !this.#isRunning) {
      signHere(wanted)
      return
    }
    this.#sent.push(wanted)
    this.#thread?.ref()
    this.#thread?.postMessage(wanted.map(({ privateKey, text }): UnsignedPermit => ({ privateKey, text })))
  }

  #startThread(): Worker {
    // Flags such as --input-type are for the program that signs, and would stop the thread.
    const thread = new Worker(new URL('./worker.js', import.meta.url), { execArgv: [] })
    thread.on('online', () => {
      this.#isRunning = true
    })
    thread.on('message', (permits: readonly string[]) => {
      for (const [i, { resolve }] of (this.#sent.shift() ?? []).entries()) resolve(permits[i] as string)
      if (this.#sent.length === 0) thread.unref()
    })
    // The end of the thread follows.
    thread.on('error', () => {})
    thread.on('exit', () => {
      this.#isRunning = false
      for (const wanted of this.#sent.splice(0)) signHere(wanted)
    })
    // Last: a listener of messages would undo it.
    thread.unref()
    return thread
  }
}

function signHere(wanted: readonly Wanted[]): void {
  for (const { privateKey, text, resolve, reject } of wanted)
    try {
      resolve(signPermit(privateKey, text))
    } catch (error) {
      reject(error)
    }
}
