import { Child, type ChildOptions } from './child.js'

const CTRL_C = '\x03'

/** A command line on a terminal (a pseudo-terminal of `script`, which is part of every Debian). */
export class Terminal extends Child {
  constructor(commandLine: string, options: Omit<ChildOptions, 'stdin'> = {}) {
    const args = ['--quiet', '--return', '--flush', '--command', `exec ${commandLine}`, '/dev/null']
    super('script', args, { ...options, stdin: 'pipe' })
  }

  /** What the person sees, without colours. */
  get screen(): string {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape sequences of colours begin with one
    return this.stdout.replaceAll(/\x1b\[[0-9;]*m/g, '').replaceAll('\r\n', '\n')
  }

  pressCtrlC(): void {
    this.process.stdin?.write(CTRL_C)
  }
}
