--
-- PostgreSQL database dump
--

\restrict token

-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: app; Type: SCHEMA; Schema: -; Owner: postgres
--

CREATE SCHEMA app;


ALTER SCHEMA app OWNER TO postgres;

--
-- Name: mood; Type: TYPE; Schema: public; Owner: postgres
--

CREATE TYPE public.mood AS ENUM (
    'sad',
    'ok'
);


ALTER TYPE public.mood OWNER TO postgres;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: orders; Type: TABLE; Schema: app; Owner: postgres
--

CREATE TABLE app.orders (
    id bigint NOT NULL,
    customer integer,
    total numeric(12,2),
    note text,
    doubled numeric(14,2) GENERATED ALWAYS AS ((total * (2)::numeric)) STORED,
    CONSTRAINT orders_total_check CHECK ((total >= (0)::numeric))
);


ALTER TABLE app.orders OWNER TO postgres;

--
-- Name: orders_id_seq; Type: SEQUENCE; Schema: app; Owner: postgres
--

ALTER TABLE app.orders ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME app.orders_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: counter; Type: SEQUENCE; Schema: public; Owner: postgres
--

CREATE SEQUENCE public.counter
    START WITH 5
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE public.counter OWNER TO postgres;

--
-- Name: customers; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.customers (
    id integer NOT NULL,
    name text NOT NULL,
    email character varying(50),
    created timestamp with time zone DEFAULT now(),
    m public.mood DEFAULT 'ok'::public.mood,
    tags text[] DEFAULT '{}'::text[],
    data jsonb DEFAULT '{}'::jsonb,
    photo bytea,
    photos bytea[],
    price numeric(10,2) DEFAULT 0.00,
    active boolean DEFAULT true,
    u uuid,
    d date,
    i interval
);


ALTER TABLE public.customers OWNER TO postgres;

--
-- Name: TABLE customers; Type: COMMENT; Schema: public; Owner: postgres
--

COMMENT ON TABLE public.customers IS 'who buys; and; more';


--
-- Name: COLUMN customers.name; Type: COMMENT; Schema: public; Owner: postgres
--

COMMENT ON COLUMN public.customers.name IS 'its name';


--
-- Name: customers_id_seq; Type: SEQUENCE; Schema: public; Owner: postgres
--

CREATE SEQUENCE public.customers_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE public.customers_id_seq OWNER TO postgres;

--
-- Name: customers_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: postgres
--

ALTER SEQUENCE public.customers_id_seq OWNED BY public.customers.id;


--
-- Name: mv; Type: MATERIALIZED VIEW; Schema: public; Owner: postgres
--

CREATE MATERIALIZED VIEW public.mv AS
 SELECT count(*) AS n
   FROM public.customers
  WITH NO DATA;


ALTER TABLE public.mv OWNER TO postgres;

--
-- Name: rich; Type: VIEW; Schema: public; Owner: postgres
--

CREATE VIEW public.rich AS
 SELECT c.name,
    sum(o.total) AS total
   FROM (public.customers c
     JOIN app.orders o ON ((o.customer = c.id)))
  GROUP BY c.name;


ALTER TABLE public.rich OWNER TO postgres;

--
-- Name: customers id; Type: DEFAULT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.customers ALTER COLUMN id SET DEFAULT nextval('public.customers_id_seq'::regclass);


--
-- Data for Name: orders; Type: TABLE DATA; Schema: app; Owner: postgres
--

INSERT INTO app.orders OVERRIDING SYSTEM VALUE VALUES (1, 1, 10.50, 'x', DEFAULT);
INSERT INTO app.orders OVERRIDING SYSTEM VALUE VALUES (2, 1, 20.00, NULL, DEFAULT);
INSERT INTO app.orders OVERRIDING SYSTEM VALUE VALUES (3, 2, 0.00, '\N', DEFAULT);


--
-- Data for Name: customers; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.customers VALUES (1, 'Ann; O''Neil', 'a@x', '2024-01-05 11:00:00+00', 'ok', '{a,"b c","d,e",NULL,"NULL",it''s,"q\"\\"}', '{"a": [1, "x"], "b": null}', '\x00ff41', '{"\\x00ff",NULL}', 0.00, true, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '2024-02-29', '1 year 2 mons 3 days 04:05:06');
INSERT INTO public.customers VALUES (2, 'Tab	and
line\', NULL, '2024-01-05 11:00:00+00', 'ok', NULL, NULL, NULL, NULL, 0.00, true, NULL, NULL, NULL);


--
-- Name: orders_id_seq; Type: SEQUENCE SET; Schema: app; Owner: postgres
--

SELECT pg_catalog.setval('app.orders_id_seq', 3, true);


--
-- Name: counter; Type: SEQUENCE SET; Schema: public; Owner: postgres
--

SELECT pg_catalog.setval('public.counter', 42, true);


--
-- Name: customers_id_seq; Type: SEQUENCE SET; Schema: public; Owner: postgres
--

SELECT pg_catalog.setval('public.customers_id_seq', 2, true);


--
-- Name: orders orders_pkey; Type: CONSTRAINT; Schema: app; Owner: postgres
--

ALTER TABLE ONLY app.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (id);


--
-- Name: customers customers_email_key; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.customers
    ADD CONSTRAINT customers_email_key UNIQUE (email);


--
-- Name: customers customers_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.customers
    ADD CONSTRAINT customers_pkey PRIMARY KEY (id);


--
-- Name: orders_customer; Type: INDEX; Schema: app; Owner: postgres
--

CREATE INDEX orders_customer ON app.orders USING btree (customer);


--
-- Name: orders orders_customer_fkey; Type: FK CONSTRAINT; Schema: app; Owner: postgres
--

ALTER TABLE ONLY app.orders
    ADD CONSTRAINT orders_customer_fkey FOREIGN KEY (customer) REFERENCES public.customers(id) ON DELETE CASCADE;


--
-- Name: mv; Type: MATERIALIZED VIEW DATA; Schema: public; Owner: postgres
--

REFRESH MATERIALIZED VIEW public.mv;


--
-- PostgreSQL database dump complete
--

\unrestrict token

