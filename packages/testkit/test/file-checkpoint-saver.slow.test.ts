import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BaseCheckpointSaver, emptyCheckpoint } from '@langchain/langgraph-checkpoint'
import { validate } from '@langchain/langgraph-checkpoint-validation'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FileCheckpointSaver } from '../src/file-checkpoint-saver.js'

const folder = mkdtempSync(join(tmpdir(), 'countersign-checkpoints-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const newPath = () => join(folder, `checkpoints-${++files}`)

/** Each call opens the file again: what it answers was on disk. */
class ReopenedSaver extends BaseCheckpointSaver {
  readonly #path = newPath()
  readonly #open = () => new FileCheckpointSaver(this.#path)
  getTuple = (...args: Parameters<FileCheckpointSaver['getTuple']>) => this.#open().getTuple(...args)
  list = (...args: Parameters<FileCheckpointSaver['list']>) => this.#open().list(...args)
  put = (...args: Parameters<FileCheckpointSaver['put']>) => this.#open().put(...args)
  putWrites = (...args: Parameters<FileCheckpointSaver['putWrites']>) => this.#open().putWrites(...args)
  deleteThread = (threadId: string) => this.#open().deleteThread(threadId)
}

describe("LangGraph's own suite for checkpoint savers, each call in a saver that was opened for it", () => {
  // Where the suite looks for its runner. What it skips for a saver has to fail here.
  const held = new Proxy(it, { get: (test, name) => (name === 'skip' ? test.fails : Reflect.get(test, name)) })
  Object.assign(globalThis, { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it: held })
  // By this name it skips that checkpoints leave out the channels that have not changed: whole ones are kept.
  validate({ checkpointerName: 'MemorySaver', createCheckpointer: () => new ReopenedSaver() })
})

describe('a file of checkpoints', () => {
  it('lets a new process go on where a killed one was: what had finished does not run again', async () => {
    const path = newPath()
    const ledger = newPath()
    const run = async (thread: string, answer?: string) => {
      const env = { PATH: process.env.PATH, CHECKPOINTS: path, LEDGER: ledger, THREAD: thread }
      const child = start('interrupted-graph.mjs', answer === undefined ? env : { ...env, ANSWER: answer })
      const [state] = await once(child, 'message')
      child.kill('SIGKILL')
      await once(child, 'exit')
      return state
    }
    expect(await run('a')).toEqual({ said: ['booked'], next: ['asks'] })
    expect(await run('b')).toEqual({ said: ['booked'], next: ['asks'] })
    expect(await run('b', 'yes')).toEqual({ said: ['yes', 'booked'], next: [] })
    expect(await run('a', 'no')).toEqual({ said: ['no', 'booked'], next: [] })
    expect(readFileSync(ledger, 'utf8')).toBe('a\nb\n')
  })

  it('has every checkpoint that was put, whenever its process is killed', async () => {
    const path = newPath()
    const child = start('checkpoint-writer.mjs', { PATH: process.env.PATH, CHECKPOINTS: path })
    let kept = -1
    child.on('message', (step: number) => {
      kept = step
      if (step === 20) child.kill('SIGKILL')
    })
    await once(child, 'exit')
    const steps = []
    for await (const { metadata } of new FileCheckpointSaver(path).list({})) steps.unshift(metadata?.step)
    expect(kept).toBeGreaterThanOrEqual(20)
    expect(steps.slice(0, kept + 1)).toEqual(Array.from({ length: kept + 1 }, (_, step) => step))
  })

  it('is refused by name when it is damaged, and stays as it is', () => {
    const path = newPath()
    for (const contents of ['', '{}', 'half a ']) {
      writeFileSync(path, contents)
      expect(() => new FileCheckpointSaver(path)).toThrow(`Cannot read the checkpoints in ${path}`)
      expect(readFileSync(path, 'utf8')).toBe(contents)
    }
  })

  it('loses nothing to a second saver: the later change is refused', async () => {
    const path = newPath()
    const put = (saver: FileCheckpointSaver, thread: string) =>
      saver.put({ configurable: { thread_id: thread } }, emptyCheckpoint(), { source: 'input', step: -1, parents: {} })
    const [first, second] = [new FileCheckpointSaver(path), new FileCheckpointSaver(path)]
    await put(first, 'a')
    await expect(put(second, 'b')).rejects.toThrow(`Another checkpoint saver has written ${path}`)
    await put(first, 'toString')
    const reopened = new FileCheckpointSaver(path)
    expect(Object.keys(reopened.storage)).toEqual(['a', 'toString'])
    expect(existsSync(`${path}.next`)).toBe(false)
  })
})

function start(program: string, env: NodeJS.ProcessEnv) {
  return fork(fileURLToPath(new URL(`processes/${program}`, import.meta.url)), { env, serialization: 'json' })
}
