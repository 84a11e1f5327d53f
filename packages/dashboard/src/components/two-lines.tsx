import type { ReactNode } from 'react'
import { visibleText } from './invisible'
import classes from './two-lines.module.css'

/**
 * A cell with a quieter second line. A text that is too long ends in `…`, and its title holds all of it. In the main column of
 * a list, both texts wrap instead.
 */
export function TwoLines({ first, second }: { readonly first: ReactNode; readonly second: ReactNode }) {
  return (
    <div className={classes.cell}>
      <Line className={classes.line} content={first} />
      <Line className={`${classes.line} ${classes.second}`} content={second} />
    </div>
  )
}

function Line({ className, content }: { readonly className: string | undefined; readonly content: ReactNode }) {
  if (typeof content !== 'string') return <div className={className}>{content}</div>
  const text = visibleText(content)
  return (
    <div className={className} title={text}>
      {text}
    </div>
  )
}
