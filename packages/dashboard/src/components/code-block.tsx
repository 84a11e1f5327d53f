import classes from './code-block.module.css'
import { CopyButton } from './copy-button'

export interface CodeBlockProps {
  readonly code: string
  readonly label: string
}

/** A program or a command, with a button that copies it. */
export function CodeBlock({ code, label }: CodeBlockProps) {
  return (
    <div className={classes.block}>
      <div className={classes.bar}>
        <span className="quiet">{label}</span>
        <CopyButton text={code} label="Copy" />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <section className={classes.code} tabIndex={0} aria-label={label}>
        <pre>{code}</pre>
      </section>
    </div>
  )
}
