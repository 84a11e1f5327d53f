/** The API reference: the OpenAPI document of this server, with a form for each call. */

import { Anchor, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import { useEffect, useMemo } from 'react'
import { readSession } from '../../api/client'
import { type OpenApiDocument, readOpenApi } from '../../api/openapi'
import { SESSION_KEY } from '../../api/query-client'
import { Logo } from '../../components/logo'
import { ErrorNotice } from '../../components/notice'
import { Loading } from '../../components/page'
import { CatalogueContext } from './document-context'
import { type Operation, operationsOf } from './openapi'
import { OperationSection } from './operation-section'
import { Prose } from './prose'
import classes from './reference.module.css'
import { Members, Opened } from './schema-view'
import { SideList } from './side-list'

/** The groups whose name differs from their tag. */
const NAMES: Readonly<Record<string, string>> = { keys: 'API keys', stats: 'Statistics', events: 'Live events' }

export function ReferencePage() {
  const document = useQuery({ queryKey: ['openapi'], queryFn: readOpenApi, staleTime: Number.POSITIVE_INFINITY })
  useEffect(() => {
    window.document.title = 'API reference · Countersign'
  }, [])
  return (
    <>
      <header className={classes.bar}>
        <div className={classes.barInside}>
          <div className={classes.brand}>
            <Logo />
            Countersign
          </div>
          <Anchor renderRoot={(props) => <Link {...props} to="/" />}>Dashboard</Anchor>
          <Anchor href="/docs/errors">Errors</Anchor>
          <Anchor href="/openapi.json">OpenAPI 3.1</Anchor>
        </div>
      </header>
      {document.isPending && <Loading what="the reference" />}
      {document.isError && <ErrorNotice error={document.error} retry={document.refetch} />}
      {document.data !== undefined && <Reference document={document.data} />}
    </>
  )
}

function Reference({ document }: { readonly document: OpenApiDocument }) {
  const { data: session = null } = useQuery({
    queryKey: SESSION_KEY,
    queryFn: readSession,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const { hash } = useLocation()
  const operations = useMemo(() => operationsOf(document), [document])
  const groups = useMemo(() => groupsOf(operations), [operations])
  const catalogue = useMemo(
    () => ({
      schemas: document.components.schemas,
      codes: new Set(operations.flatMap(({ problems }) => problems.map(({ code }) => code))),
    }),
    [document, operations],
  )
  // The target of the URL's anchor exists only now.
  useEffect(() => {
    window.document.getElementById(hash)?.scrollIntoView()
  }, [hash])

  return (
    <CatalogueContext value={catalogue}>
      <div className={classes.layout}>
        <SideList groups={groups} />
        <main className={classes.main}>
          <Title order={1}>API reference</Title>
          <Text my="xs">{document.info.description}</Text>
          <Text mb="lg" className="quiet">
            Send <code>Authorization: Bearer</code> and an API key with every request. An error is a problem document
            with a <code>code</code>: see <a href="/docs/errors">all errors</a>. An error never permits anything.
          </Text>
          {groups.map(([name, members]) => (
            <section key={name} aria-labelledby={`group-${name}`}>
              <Title order={2} id={`group-${name}`} mt="lg" mb="xs">
                {name}
              </Title>
              {members.map((operation) => (
                <OperationSection key={operation.id} operation={operation} session={session} />
              ))}
            </section>
          ))}
          <section aria-labelledby="schemas">
            <Title order={2} id="schemas" className={classes.anchor} mt="lg" mb="xs">
              Schemas
            </Title>
            {Object.entries(document.components.schemas).map(([name, schema]) => (
              <Opened key={name} title={name} id={`schema-${name}`}>
                {schema.description !== undefined && (
                  <Text size="sm">
                    <Prose text={schema.description} />
                  </Text>
                )}
                <Members schema={schema} isSent={false} />
              </Opened>
            ))}
          </section>
        </main>
      </div>
    </CatalogueContext>
  )
}

function groupsOf(operations: readonly Operation[]): (readonly [name: string, Operation[]])[] {
  const groups = new Map<string, Operation[]>()
  for (const operation of operations) {
    const { group } = operation
    const name = NAMES[group] ?? group.charAt(0).toUpperCase() + group.slice(1)
    groups.set(name, [...(groups.get(name) ?? []), operation])
  }
  return [...groups]
}
