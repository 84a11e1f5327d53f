/** What was looked at, how it is, and for a problem what to do about it. Holds no secret. */
export interface Finding {
  readonly subject: string
  readonly text: string
  /** Null: all is well. */
  readonly fix: string | null
}

export function fine(subject: string, text: string): Finding {
  return { subject, text, fix: null }
}

export function problem(subject: string, text: string, fix: string): Finding {
  return { subject, text, fix }
}

/** One line. */
export function lineOf({ subject, text, fix }: Finding): string {
  const told = fix === null ? text : `${text} Fix: ${fix}`
  return `${(fix === null ? 'ok' : 'problem').padEnd(9)}${subject.padEnd(16)}${told.replaceAll(/\s*\n\s*/g, ' ')}`
}
