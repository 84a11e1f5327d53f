import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { AdminCommand, CommandResult } from '../../ports/admin-command.js'
import {
  completeCommand,
  pendingCommands,
  readCommand,
  readResult,
  submitCommand,
  UnsafeSpoolError,
  withdrawCommand,
} from './spool.js'
import { type SpoolWatch, watchSpool } from './watch.js'

const COMMAND: AdminCommand = {
  key: { name: 'operator', scopes: ['*'], agents: null, expires_at: null },
  secret: { hash: 'h'.repeat(43), hint: 'cs_sk_…9fQ2', expires_at: null },
}
const DONE: CommandResult = { done: true }

let dataDir: string
let spool: string
let stop: () => void
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'countersign-spool-'))
  spool = join(dataDir, 'operator-inbox')
  stop = () => {}
})
afterEach(async () => {
  vi.restoreAllMocks()
  stop()
  await rm(dataDir, { recursive: true })
})

const names = async () => (await readdir(spool)).sort()

/** Writes a file into the spool without the command line. */
async function put(name: string, text: string): Promise<string> {
  await mkdir(spool, { recursive: true, mode: 0o700 })
  await writeFile(join(spool, name), text)
  return join(spool, name)
}

async function age(path: string): Promise<void> {
  const old = new Date(Date.now() - 61_000)
  await utimes(path, old, old)
}

/** Watches until `execute` and `onError` were called `count` times. */
async function watched(count: number, execute: SpoolWatch['execute'] = async () => DONE) {
  const commands: AdminCommand[] = []
  const errors: Error[] = []
  const refusals: string[] = []
  await new Promise<void>((resolve) => {
    const check = () => {
      if (commands.length + errors.length + refusals.length >= count) resolve()
    }
    stop = watchSpool({
      dataDir,
      intervalMs: 5,
      execute: async (command) => {
        commands.push(command)
        check()
        return execute(command)
      },
      onRefused: (reason) => {
        refusals.push(reason)
        check()
      },
      onError: (error) => {
        errors.push(error as Error)
        check()
      },
    })
  })
  return { commands, errors, refusals }
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setImmediate(resolve))
}

/** Until every command has its result: nothing is written into the spool any more. */
const settled = () => until(async () => (await pendingCommands(dataDir)).length === 0)

describe('a command', () => {
  it('is written whole, readable by its owner alone, and read as it was written', async () => {
    const umask = process.umask(0)
    try {
      const path = await submitCommand(dataDir, COMMAND)
      expect(await pendingCommands(dataDir)).toEqual([path])
      expect([(await stat(spool)).mode & 0o777, (await stat(path)).mode & 0o777]).toEqual([0o700, 0o600])
      expect(await readCommand(path)).toEqual(COMMAND)
      expect(await readResult(path)).toBeNull()
    } finally {
      process.umask(umask)
    }
  })

  it('that confirms the clock is read as it was written', async () => {
    expect(await readCommand(await submitCommand(dataDir, { clock: 'confirm' }))).toEqual({ clock: 'confirm' })
  })

  it.each([DONE, { refused: 'expires_at has to be ahead.' }])('gets its result: %o', async (result) => {
    const path = await submitCommand(dataDir, COMMAND)
    await completeCommand(path, result)
    expect(await pendingCommands(dataDir)).toEqual([])
    expect(await readResult(path)).toEqual(result)
    expect(await withdrawCommand(path)).toEqual(result)
    expect(await names()).toEqual([])
  })

  it('that was withdrawn leaves nothing behind', async () => {
    const path = await submitCommand(dataDir, COMMAND)
    expect(await withdrawCommand(path)).toBeNull()
    expect(await pendingCommands(dataDir)).toEqual([])
    expect(await readCommand(path)).toBeNull()
    expect(await names()).toEqual([])
  })

  it('has no result because it is gone', async () => {
    const path = await submitCommand(dataDir, COMMAND)
    await rm(path)
    expect(await readResult(path)).toBeNull()
    expect(await withdrawCommand(path)).toBeNull()
  })

  it('is removed after a minute, as is every other file there', async () => {
    await age(await submitCommand(dataDir, COMMAND))
    const completed = await submitCommand(dataDir, COMMAND)
    await completeCommand(completed, DONE)
    await age(`${completed}.answer`)
    await age(await put('half-written.json.1.tmp', '{'))
    const fresh = await submitCommand(dataDir, COMMAND)
    expect(await pendingCommands(dataDir)).toEqual([fresh])
    expect(await readdir(spool)).toEqual([fresh.split('/').at(-1)])
  })
})

describe('a spool that other users can write into', () => {
  it.each([0o720, 0o702, 0o777])('is neither read nor used, mode %o', async (mode) => {
    await submitCommand(dataDir, COMMAND)
    await chmod(spool, mode)
    await expect(pendingCommands(dataDir)).rejects.toThrow(UnsafeSpoolError)
    await expect(pendingCommands(dataDir)).rejects.toThrow(`chmod 700 ${spool}`)
    await expect(submitCommand(dataDir, COMMAND)).rejects.toThrow(UnsafeSpoolError)
    expect(await names()).toHaveLength(1)
  })

  it('by a link to another folder is neither', async () => {
    const elsewhere = await mkdtemp(join(tmpdir(), 'countersign-spool-'))
    await symlink(elsewhere, spool)
    await expect(pendingCommands(dataDir)).rejects.toThrow(UnsafeSpoolError)
    await expect(submitCommand(dataDir, COMMAND)).rejects.toThrow(UnsafeSpoolError)
    await rm(elsewhere, { recursive: true })
  })

  it('because it is theirs is neither, and a file of theirs is not a command', async () => {
    const path = await submitCommand(dataDir, COMMAND)
    vi.spyOn(process, 'getuid').mockReturnValue((await stat(path)).uid + 1)
    await expect(pendingCommands(dataDir)).rejects.toThrow(UnsafeSpoolError)
    await expect(submitCommand(dataDir, COMMAND)).rejects.toThrow(UnsafeSpoolError)
    await expect(readCommand(path)).rejects.toThrow('belongs to the user')
  })

  it('is reported once, and commands are executed again when it is closed to them', async () => {
    await submitCommand(dataDir, COMMAND)
    await chmod(spool, 0o777)
    const { commands, errors } = await watched(1)
    expect(errors).toEqual([expect.any(UnsafeSpoolError)])
    await chmod(spool, 0o700)
    await settled()
    expect(commands).toEqual([COMMAND])
    expect(errors).toHaveLength(1)
  })
})

describe('the watch', () => {
  it('executes a command once, and writes its result', async () => {
    const path = await submitCommand(dataDir, COMMAND)
    const { commands, errors } = await watched(1)
    await settled()
    expect({ commands, errors }).toEqual({ commands: [COMMAND], errors: [] })
    expect(await readResult(path)).toEqual(DONE)
  })

  it('writes the reason of a refusal as the result, and reports it', async () => {
    const path = await submitCommand(dataDir, COMMAND)
    const { errors, refusals } = await watched(2, async () => ({ refused: 'It is too late.' }))
    await settled()
    expect({ errors, refusals }).toEqual({ errors: [], refusals: ['It is too late.'] })
    expect(await readResult(path)).toEqual({ refused: 'It is too late.' })
    expect(await pendingCommands(dataDir)).toEqual([])
  })

  it('executes a command again that a crash left without a result', async () => {
    const path = await submitCommand(dataDir, COMMAND)
    const crashed = await watched(1, () => new Promise(() => {}))
    stop()
    const { commands } = await watched(1)
    await settled()
    expect(await readResult(path)).toEqual(DONE)
    expect([crashed.commands, commands]).toEqual([[COMMAND], [COMMAND]])
  })

  it('keeps a command that has to wait, and reports why once', async () => {
    const path = await submitCommand(dataDir, COMMAND)
    let attempts = 0
    const { errors } = await watched(5, async () => {
      attempts += 1
      if (attempts < 5) throw new Error(`attempt ${attempts}`)
      return DONE
    })
    await settled()
    expect(errors).toEqual([new Error('attempt 1')])
    expect(await readResult(path)).toEqual(DONE)
  })

  it('removes a file that is not a command, reports it once, and executes the commands after it', async () => {
    const text = JSON.stringify(COMMAND)
    const rubbish = [
      text.slice(0, -9),
      '',
      'null',
      JSON.stringify({ ...COMMAND, more: 1 }),
      `${text}${' '.repeat(70_000)}`,
    ]
    for (const [i, one] of rubbish.entries()) await put(`000${i}.json`, one)
    await symlink(await put('kept', text), join(spool, '0009.json'))
    const path = await submitCommand(dataDir, COMMAND)
    const { commands, errors } = await watched(7)
    await settled()
    expect(commands).toEqual([COMMAND])
    expect(errors).toHaveLength(6)
    for (const { message } of errors) expect(message).toMatch(/not an admin command/)
    expect(await names()).toEqual([`${path.split('/').at(-1)}.answer`, 'kept'])
    expect(await readFile(join(spool, 'kept'), 'utf8')).toBe(text)
  })

  it('waits for a spool that is not there yet', async () => {
    const watching = watched(1)
    await submitCommand(dataDir, COMMAND)
    expect((await watching).commands).toEqual([COMMAND])
    await settled()
  })
})
