/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_form.c - forms with names in brackets, as the objects that rows are made of. */
#include <cJSON.h>

#include "tests/lib/twinask.h"

#define FORM "Content-Type: application/x-www-form-urlencoded\r\n"

static void
becomes(const char *form, const char *want)
{
	is_int(ask("POST", "/rows", FORM, form), 201, form);
	is_str(body(), want, "its row");
	ask("DELETE", "/rows/a", "", "");
}

int
main(void)
{
	char deep[400] = "id=a&x";

	if (!ok(load("{\"name\":\"s\",\"kind\":\"http\",\"hosts\":[\"s.internal\"],\"state\":{\"rows\":[]},\"routes\":[{\"resource\":\"rows\",\"path\":\"/rows\"},"
		     "{\"id\":\"own\",\"match\":{\"method\":\"POST\",\"path\":\"/own\",\"body\":{\"form\":{\"m[k]\":\"v\"}}},\"do\":[{\"create\":\"rows\",\"as\":\"r\"}],\"reply\":{\"body\":[\"{{r.m.k}}\",\"{{request.form['m[k]']}}\"]}}]}"),
		"a service of forms"))
		return tap_done();
	becomes("id=a&b=1", "{\"id\":\"a\",\"b\":\"1\"}");
	becomes("id=a&m[x]=1&m[y]=2", "{\"id\":\"a\",\"m\":{\"x\":\"1\",\"y\":\"2\"}}");
	becomes("id=a&l[]=1&l[]=2", "{\"id\":\"a\",\"l\":[\"1\",\"2\"]}");
	becomes("id=a&l[]=1", "{\"id\":\"a\",\"l\":[\"1\"]}");
	becomes("id=a&l[0][p]=x&l[0][q]=2&l[1][p]=y", "{\"id\":\"a\",\"l\":[{\"p\":\"x\",\"q\":\"2\"},{\"p\":\"y\"}]}");
	becomes("id=a&m%5Bx%5D%5By%5D=1", "{\"id\":\"a\",\"m\":{\"x\":{\"y\":\"1\"}}}");
	becomes("id=a&m[10]=1", "{\"id\":\"a\",\"m\":{\"10\":\"1\"}}");
	becomes("id=a&l[0]=1&l[2]=3&l[x]=4", "{\"id\":\"a\",\"l\":[\"1\"],\"l[2]\":\"3\",\"l[x]\":\"4\"}");
	becomes("id=a&m[x]=1&m[]=2", "{\"id\":\"a\",\"m\":{\"x\":\"1\"},\"m[]\":\"2\"}");
	becomes("id=a&m=1&m[x]=2", "{\"id\":\"a\",\"m\":\"1\",\"m[x]\":\"2\"}");
	becomes("id=a&m[x=1&[x]=2&m]=3&m[x]y=4&m[[x]]=5",
		"{\"id\":\"a\",\"m[x\":\"1\",\"[x]\":\"2\",\"m]\":\"3\",\"m[x]y\":\"4\",\"m[[x]]\":\"5\"}");
	becomes("id=a&m[x]=1&m[x]=2", "{\"id\":\"a\",\"m\":{\"x\":[\"1\",\"2\"]}}");
	becomes("id=a&l[01]=1&l[x]=2", "{\"id\":\"a\",\"l\":{\"01\":\"1\",\"x\":\"2\"}}");
	is_int(ask("POST", "/own", FORM, "id=b&m[k]=v"), 200, "the row of an effect");
	is_str(body(), "[\"v\",\"v\"]", "is nested, request.form is not");
	for (int i = 0; i < 20; i++)
		strcat(deep, "[y]");
	strcat(deep, "=1");
	is_int(ask("POST", "/rows", FORM, deep), 201, "too deep a name");
	ok(has("\"x[y][y]"), "stays as it is written");
	unload();
	return tap_done();
}
