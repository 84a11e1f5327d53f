import { Group, Title } from '@mantine/core'
import { type ReactNode, useId } from 'react'
import classes from './panel.module.css'

export interface PanelProps {
  readonly title: string
  /** At the right of the title. */
  readonly aside?: ReactNode
  readonly children: ReactNode
}

/** A titled part of a page. */
export function Panel({ title, aside, children }: PanelProps) {
  const id = useId()
  return (
    <section className={classes.panel} aria-labelledby={id}>
      <Group justify="space-between" mb="sm" gap="xs">
        <Title order={2} id={id}>
          {title}
        </Title>
        {aside}
      </Group>
      {children}
    </section>
  )
}

/** Names and values, one pair a row. A value of null is left out. */
export function Facts({ facts }: { readonly facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className={classes.facts}>
      {facts
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}
