/** What `strace -f -y` wrote, as finished and unfinished steps in the order in which the kernel took them. */

export interface Step {
  readonly thread: string
  readonly call: string
  /** `begin` is the call, `end` its return; of a call that was not interrupted both stand in one line. */
  readonly at: 'begin' | 'end'
  /** What the file descriptor of its first argument stands for: a path, `TCP:[…]`. */
  readonly target: string
  /** All arguments as strace shows them; empty at an end of its own line. */
  readonly text: string
  /** At an end: whether the kernel reported success. */
  readonly ok: boolean
}

const WHOLE = /^(\d+) +(\w+)\((.*)\) += (-?\d+)/
const BEGIN = /^(\d+) +(\w+)\((.*) <unfinished \.\.\.>$/
const END = /^(\d+) +<\.\.\. (\w+) resumed>(.*)\) += (-?\d+)/

/** The steps of a trace; lines about anything but system calls (signals, exits) are left out. */
export function stepsOf(trace: string): Step[] {
  const open = new Map<string, { readonly call: string; readonly target: string; readonly text: string }>()
  const steps: Step[] = []
  for (const line of trace.split('\n')) {
    const whole = WHOLE.exec(line)
    if (whole !== null) {
      const [, thread = '', call = '', text = '', result = ''] = whole
      const common = { thread, call, target: targetOf(text), text }
      steps.push({ ...common, at: 'begin', ok: true }, { ...common, at: 'end', ok: Number(result) >= 0 })
      continue
    }
    const begin = BEGIN.exec(line)
    if (begin !== null) {
      const [, thread = '', call = '', text = ''] = begin
      const common = { call, target: targetOf(text), text }
      open.set(thread, common)
      steps.push({ thread, ...common, at: 'begin', ok: true })
      continue
    }
    const end = END.exec(line)
    if (end !== null) {
      const [, thread = '', call = '', rest = '', result = ''] = end
      const begun = open.get(thread)
      if (begun?.call !== call) throw new Error(`The trace ends a call that did not begin: ${line}`)
      open.delete(thread)
      steps.push({ ...begun, thread, text: begun.text + rest, at: 'end', ok: Number(result) >= 0 })
    }
  }
  return steps
}

function targetOf(text: string): string {
  return /^\d+<((?:[^<>]|<[^<>]*>)*)>/.exec(text)?.[1] ?? ''
}

/**
 * Why the trace does not show that an answer left after its record was on the disk; null when it does. The record is on
 * the disk when all that was written to the log of the database up to the one that names the decision, and nothing less,
 * was followed by a sync that had ended.
 */
export function durabilityFault(steps: readonly Step[], decisionId: string): string | null {
  const isLog = (step: Step) => step.target.endsWith('.db-wal')
  const answered = steps.findIndex(
    (step) => step.at === 'begin' && /^TCP|^socket/.test(step.target) && step.text.includes(decisionId),
  )
  if (answered === -1) return 'no answer in the trace'
  const written = steps.findIndex(
    (step) => step.at === 'end' && isLog(step) && step.call.startsWith('pwrite') && step.text.includes(decisionId),
  )
  if (written === -1 || written > answered) return 'answered before its record was written'
  const between = steps.slice(written, answered)
  for (const [i, step] of between.entries()) {
    if (step.at !== 'begin' || !isLog(step) || !/^f(data)?sync$/.test(step.call)) continue
    const end = between.slice(i).find((later) => later.at === 'end' && later.thread === step.thread)
    if (end?.ok === true) return null
  }
  return 'answered before a sync of its record had ended'
}
