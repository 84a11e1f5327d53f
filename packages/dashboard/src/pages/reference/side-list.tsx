import { TextInput } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { isFound, type Operation } from './openapi'
import classes from './reference.module.css'

export interface SideListProps {
  readonly groups: readonly (readonly [name: string, operations: readonly Operation[]])[]
}

/** A searchable list of all endpoints. */
export function SideList({ groups }: SideListProps) {
  const navigate = useNavigate()
  const [search, setSearch] = useState('')
  const found = groups
    .map(([name, operations]) => [name, operations.filter((one) => isFound(one, search))] as const)
    .filter(([, operations]) => operations.length > 0)
  const first = found[0]?.[1][0]
  const openFirst = (event: FormEvent) => {
    event.preventDefault()
    if (first !== undefined) void navigate({ to: '/docs', hash: first.id })
  }
  return (
    <nav className={classes.side} aria-label="Endpoints">
      <form onSubmit={openFirst}>
        <TextInput
          type="search"
          aria-label="Search endpoints"
          placeholder="Search endpoints"
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
      </form>
      {found.length === 0 && (
        <p className="quiet" role="status">
          No results. Search for a path, method, word or scope.
        </p>
      )}
      {found.map(([name, operations]) => (
        <div key={name}>
          <div className={classes.group} id={`list-${name}`}>
            {name}
          </div>
          <ul className={classes.list} aria-labelledby={`list-${name}`}>
            {operations.map(({ id, method, path, summary }) => (
              <li key={id}>
                <Link
                  to="/docs"
                  hash={id}
                  className={classes.link}
                  title={summary}
                  activeOptions={{ exact: true, includeHash: true }}
                >
                  <span className={classes.method} data-method={method}>
                    {method}
                  </span>
                  <span className={classes.path}>{path.replace('/v1', '')}</span>
                </Link>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  )
}
