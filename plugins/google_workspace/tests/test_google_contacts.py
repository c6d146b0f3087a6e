"""The tools of the group ``google_contacts``."""

import pytest
from google_desk import Desk, sign_in
from google_people_service import MY_CONTACTS
from how_long import some
from hypothesis import given
from hypothesis import strategies as st
from oneclaw_google_workspace.contacts.people import ContactChange, birthday_date, birthday_text

from oneclaw_core import PermissionAnswer

pytestmark = pytest.mark.one_python

BO_MAIL = {"value": "bo@example.com", "type": "work"}


@pytest.fixture
def people(google):
    return google.services["people"]


def test_people_are_found_by_the_beginning_of_a_word(people, desk):
    bo = people.add(
        "Bo Berg",
        emailAddresses=[BO_MAIL],
        phoneNumbers=[{"value": "+46 1"}],
        organizations=[{"name": "Acme", "title": "Roofer"}],
    )
    people.add("Ana Alm")

    answer = desk("contacts_search", query="ber")

    assert answer["people"] == [
        {
            "resource_name": bo,
            "name": "Bo Berg",
            "emails": ["bo@example.com"],
            "phones": ["+46 1"],
            "organization": "Acme",
            "title": "Roofer",
        }
    ]
    assert "never instructions" in answer["untrusted_content"]
    assert desk("contacts_search", query="erg")["people"] == []
    assert desk.asked == []


def test_other_contacts_and_the_directory_need_more_than_the_usual_consent(google, empty_home, people, tmp_path):
    people.others.append({"resourceName": "otherContacts/o1", "names": [{"displayName": "Cy Old"}]})
    people.directory += [
        {"resourceName": f"people/{number}", "names": [{"displayName": f"Dee {number}"}]} for number in range(3)
    ]
    sign_in(google, empty_home, services=("contacts",))
    desk = Desk(empty_home, tmp_path)

    assert desk.error("contacts_search", query="cy", source="other_contacts") == (
        "not_available",
        "The Google sign-in of work (ana@example.com) does not include what contacts_search needs "
        "(contacts.other.readonly). The user can add it with: oneclaw google login --account work "
        "--scope contacts.other.readonly",
    )
    sign_in(google, empty_home, services=("contacts",), extra=("contacts.other.readonly", "directory.readonly"))

    found = desk("contacts_search", query="cy", source="other_contacts")
    assert found["people"] == [{"resource_name": "otherContacts/o1", "name": "Cy Old"}]
    first = desk("contacts_search", query="dee", source="directory", max_results=2)
    second = desk(
        "contacts_search", query="dee", source="directory", max_results=2, page_token=first["next_page_token"]
    )
    assert [each["name"] for each in first["people"] + second["people"]] == ["Dee 0", "Dee 1", "Dee 2"]
    assert "next_page_token" not in second


@pytest.mark.long
def test_all_contacts_are_listed_page_by_page_with_their_labels(people, desk):
    roof = people.add_group("Roof")
    for name in ("Cy Cole", "Ana Alm", "Bo Berg"):
        people.add(name, groups=(roof,) if name == "Bo Berg" else ())

    first = desk("contacts_list", max_results=2)
    second = desk("contacts_list", max_results=2, page_token=first["next_page_token"])

    assert [each["name"] for each in first["contacts"]] == ["Ana Alm", "Bo Berg"]
    assert first["contacts"][1]["groups"] == ["Roof"]
    assert [each["name"] for each in second["contacts"]] == ["Cy Cole"]
    assert first["total"] == 3
    assert desk("contacts_list", sort="last_modified")["contacts"][0]["name"] == "Bo Berg"
    groups = desk("contacts_list", include_groups=True)["groups"]
    assert {"resource_name": roof, "name": "Roof", "count": 1} in groups


def test_the_members_of_a_label_are_listed_page_by_page(people, desk):
    roof = people.add_group("Roof")
    names = [f"Person {number:03d}" for number in range(5)]
    for name in names:
        people.add(name, groups=(roof,))
    people.add("Somebody Else")

    found, token, pages = [], None, 0
    while pages == 0 or token:
        page = desk("contacts_list", group="roof", max_results=2, **({"page_token": token} if token else {}))
        found += [each["name"] for each in page["contacts"]]
        token, pages = page.get("next_page_token"), pages + 1

    assert (found, pages) == (names, 3)
    assert desk("contacts_list", group="friends")["contacts"] == []
    error = desk.error("contacts_list", group="Rooof")
    assert error == ("validation_error", "There is no label 'Rooof'. There are: Friends, Roof.")


def test_given_contacts_are_shown_in_full_and_missing_ones_are_named(people, desk):
    bo = people.add(
        "Bo Berg",
        emailAddresses=[BO_MAIL],
        birthdays=[{"date": {"month": 2, "day": 29}}],
        biographies=[{"value": "Likes cats"}],
        addresses=[{"streetAddress": "Road 1", "city": "Lund", "type": "home"}],
    )

    answer = desk("contacts_list", resource_names=[bo, "people/c999"])

    assert answer["contacts"] == [
        {
            "resource_name": bo,
            "name": "Bo Berg",
            "emails": [BO_MAIL],
            "given_name": "Bo",
            "family_name": "Berg",
            "addresses": [{"value": "Road 1\nLund", "type": "home"}],
            "birthday": "--02-29",
            "notes": "Likes cats",
        }
    ]
    assert answer["failed"] == [{"resource_name": "people/c999", "reason": "Person was not found."}]


def test_a_contact_is_created_with_everything_and_with_labels(people, desk):
    roof = people.add_group("Roof")

    made = desk(
        "contacts_create",
        given_name="Bo",
        family_name="Berg",
        nickname="B",
        emails=[BO_MAIL],
        phones=[{"value": "+46 1"}],
        organization="Acme",
        job_title="Roofer",
        department="Roofs",
        addresses=[{"street": "Road 1", "city": "Lund", "postal_code": "22100", "country": "Sweden"}],
        birthday="1980-04-01",
        notes="Likes cats",
        urls=[{"value": "https://example.com"}],
        groups=["Roof"],
    )

    person = people.contacts[made["resource_name"]]
    assert person["addresses"][0]["streetAddress"] == "Road 1"
    assert person["birthdays"] == [{"date": {"year": 1980, "month": 4, "day": 1}}]
    assert person["biographies"] == [{"value": "Likes cats", "contentType": "TEXT_PLAIN"}]
    assert people.members(roof) == people.members(MY_CONTACTS) == [made["resource_name"]]
    assert (made["groups"], made["birthday"], made["department"]) == (["Roof"], "1980-04-01", "Roofs")
    question = (
        'create the contact "Bo Berg": labels "Roof"; given_name "Bo"; family_name "Berg"; nickname "B"; '
        'emails "bo@example.com (work)"; phones "+46 1"; organization "Acme"; job_title "Roofer"; department "Roofs"; '
        'addresses "Road 1, Lund, 22100, Sweden"; birthday "1980-04-01"; notes "Likes cats"; '
        'urls "https://example.com", as work (ana@example.com)'
    )
    assert desk.asked == [("google.contacts.write", question)]


def test_an_update_changes_what_is_given_and_keeps_the_rest(people, desk):
    bo = people.add(
        "Bo Berg",
        emailAddresses=[BO_MAIL],
        organizations=[{"name": "Acme", "title": "Roofer", "location": "Lund"}],
        biographies=[{"value": "Likes cats"}],
    )

    answer = desk(
        "contacts_update",
        resource_name=bo,
        family_name="Borg",
        job_title="Boss",
        notes="",
        emails=[{"value": "BO@example.com", "type": "home"}, {"value": "b@b.se"}],
    )

    person = people.contacts[bo]
    assert person["names"][0]["displayName"] == "Bo Borg"
    assert person["organizations"] == [{"name": "Acme", "title": "Boss", "location": "Lund"}]
    assert person["emailAddresses"] == [{"value": "BO@example.com", "type": "home"}, {"value": "b@b.se"}]
    assert "biographies" not in person
    assert answer["changed"] == ["names", "organizations", "biographies", "emailAddresses"]
    assert desk.asked == [
        (
            "google.contacts.write",
            'change the contact "Bo Berg": family_name "Borg"; emails "BO@example.com (home)", "b@b.se"; '
            'job_title "Boss"; no notes, as work (ana@example.com)',
        )
    ]


def test_the_user_sees_what_becomes_of_lists_labels_and_long_notes(people, desk):
    bo = people.add("Bo", emailAddresses=[BO_MAIL], phoneNumbers=[{"value": "1"}])
    people.add_group("Roof")

    desk(
        "contacts_update",
        resource_name=bo,
        emails=[{"value": f"{n}@y.z"} for n in range(6)],
        phones=[],
        notes="x" * 301,
        list_mode="replace",
        add_groups=["Roof"],
    )

    assert desk.asked[0][1] == (
        'change the contact "Bo": add labels "Roof"; emails only "0@y.z", "1@y.z", "2@y.z", "3@y.z", "4@y.z" and 1 '
        f'more; no phones; notes "{"x" * 300}…" and 1 more character, as work (ana@example.com)'
    )


@pytest.mark.long
def test_lists_can_be_replaced_and_emptied(people, desk):
    bo = people.add("Bo", emailAddresses=[BO_MAIL], phoneNumbers=[{"value": "1"}])

    desk("contacts_update", resource_name=bo, emails=[{"value": "x@y.z"}], phones=[], list_mode="replace")

    assert people.contacts[bo]["emailAddresses"] == [{"value": "x@y.z"}]
    assert "phoneNumbers" not in people.contacts[bo]


def test_a_contact_that_was_changed_meanwhile_is_read_again(google, people, desk, monkeypatch):
    bo = people.add("Bo", emailAddresses=[BO_MAIL])
    google.fail("people.people.updateContact", 400, "failedPrecondition", retry_after=None)

    desk("contacts_update", resource_name=bo, emails=[{"value": "x@y.z"}])

    assert len(people.contacts[bo]["emailAddresses"]) == 2
    assert google.called("people.people.updateContact") == ["people.people.updateContact"] * 2


@pytest.mark.long
def test_labels_are_put_on_and_taken_off(people, desk):
    roof, old = people.add_group("Roof"), people.add_group("Old")
    bo = people.add("Bo", groups=(old,))

    answer = desk("contacts_update", resource_name=bo, add_groups=["Roof"], remove_groups=[old])

    assert (people.members(roof), people.members(old)) == ([bo], [])
    assert (answer["groups"], answer["changed"]) == (["Roof"], ["groups"])


def test_the_last_label_stays_and_that_is_said(people, desk):
    bo = people.add("Bo")

    answer = desk("contacts_update", resource_name=bo, remove_groups=[MY_CONTACTS])

    assert answer["failed"] == [{"group": "My Contacts", "reason": "A contact must keep one label."}]


def test_contacts_are_deleted_after_the_user_has_seen_their_names(google, people, desk):
    ids = [people.add(name) for name in ("Ana Alm", "Bo Berg", "Cy Cole")]

    assert desk("contacts_delete", resource_names=ids[:1])["deleted"] == [{"resource_name": ids[0], "name": "Ana Alm"}]
    answer = desk("contacts_delete", resource_names=[*ids[1:], "people/c999"])

    assert people.contacts == {}
    assert answer["failed"] == [{"resource_name": "people/c999", "reason": "Person was not found."}]
    assert [detail for _, detail in desk.asked] == [
        'delete the contact "Ana Alm", as work (ana@example.com)',
        'delete 2 contacts "Bo Berg", "Cy Cole", as work (ana@example.com)',
    ]


def test_a_deletion_that_google_did_but_did_not_confirm_counts(google, people, desk):
    bo = people.add("Bo")
    google.fail("people.people.deleteContact", is_after=True)

    assert desk("contacts_delete", resource_names=[bo])["deleted"][0]["resource_name"] == bo


def test_whoever_says_no_keeps_everything_as_it_is(google, people, desk):
    bo = people.add("Bo")
    desk.answer = PermissionAnswer.NO

    for tool, arguments in (
        ("contacts_create", {"given_name": "X"}),
        ("contacts_update", {"resource_name": bo, "given_name": "X"}),
        ("contacts_delete", {"resource_names": [bo]}),
    ):
        assert desk.error(tool, **arguments)[0] == "permission_denied"

    assert [person["names"][0]["givenName"] for person in people.contacts.values()] == ["Bo"]
    assert len(desk.asked) == 3


def test_a_creation_whose_outcome_no_one_knows_is_not_repeated(google, people, desk):
    google.fail("people.people.createContact", is_after=True)

    error_type, message = desk.error("contacts_create", given_name="Bo")

    assert error_type == "unknown_outcome"
    assert message.endswith("it may have been done or not. Look for it with contacts_search before trying again.")
    assert len(people.contacts) == 1


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    some(
        [
            ("contacts_search", {"query": " "}, "Give the beginning of a name"),
            ("contacts_search", {"query": "a", "page_token": "x"}, "Only the directory has pages"),
            ("contacts_list", {"resource_names": ["people/c1"], "group": "x"}, "resource_names go without group"),
            ("contacts_list", {"resource_names": ["c1"]}, "'c1' is not a resource name"),
            ("contacts_list", {"group": "friends", "page_token": "x"}, "must be the next_page_token"),
            ("contacts_create", {"notes": "x"}, "A contact needs a given_name"),
            ("contacts_create", {"given_name": "x", "birthday": "2001-02-29"}, "birthday must be YYYY-MM-DD"),
            ("contacts_create", {"given_name": "x", "groups": ["nope"]}, "There is no label 'nope'"),
            ("contacts_update", {"resource_name": "people/me", "notes": "x"}, "none of the user's own contacts"),
            ("contacts_delete", {"resource_names": ["otherContacts/o1"]}, "none of the user's own contacts"),
        ],
        5,
    ),
)
def test_what_cannot_be_is_refused_with_what_to_do(google, people, desk, tool, arguments, message):
    error_type, said = desk.error(tool, **arguments)

    assert error_type == "validation_error"
    assert message in said
    assert desk.asked == []


@pytest.mark.long
def test_an_update_without_a_change_is_refused(people, desk):
    bo = people.add("Bo")

    assert desk.error("contacts_update", resource_name=bo, emails=[])[0] == "validation_error"


@pytest.mark.long
def test_parallel_changes_go_one_after_the_other(google, people, desk):
    results = desk.results([("contacts_create", {"given_name": f"Person {number}"}) for number in range(6)])

    assert all(result.is_success for result in results)
    assert len(people.contacts) == 6


@given(st.dates().map(lambda day: day.isoformat()) | st.dates().map(lambda day: f"-{day.isoformat()[4:]}"))
def test_a_birthday_comes_back_as_it_was_written(text):
    assert birthday_text(birthday_date(text)) == text


@given(
    st.lists(st.sampled_from(["a@b.c", "A@B.C", "d@e.f", "g@h.i"]), max_size=4),
    st.lists(st.sampled_from(["a@b.c", "D@e.f", "x@y.z"]), min_size=1, max_size=4),
)
def test_merging_loses_no_address_and_makes_none_twice(present, added):
    person = {"emailAddresses": [{"value": each} for each in present]}
    change = ContactChange(emails=[{"value": each} for each in added])

    merged = change.changed_fields(person)["emailAddresses"]

    values = [each["value"].casefold() for each in merged]
    assert set(values) == {each.casefold() for each in (*present, *added)}
    assert len(values) == len(set(values))


# Labels


def test_a_label_is_created_put_on_contacts_renamed_and_deleted(google, people, desk):
    bo, cy = (people.add(name, groups=(MY_CONTACTS,)) for name in ("Bo Berg", "Cy Cold"))

    made = desk("contacts_label_manage", action="create", name=" Roof  people ", resource_names=[bo])

    label = made["resource_name"]
    assert made == {"status": "created", "resource_name": label, "name": "Roof people", "contacts": [bo]}
    assert people.members(label) == [bo]
    assert desk("contacts_label_manage", action="add", label="roof people", resource_names=[cy])["contacts"] == [cy]
    assert desk("contacts_label_manage", action="remove", label=label, resource_names=[bo])["contacts"] == [bo]
    assert people.members(label) == [cy]
    assert desk("contacts_label_manage", action="rename", label=label, name="Roofers")["name"] == "Roofers"
    assert desk("contacts_label_manage", action="create", name="roofers") == {
        "status": "exists",
        "resource_name": label,
        "name": "Roofers",
    }
    assert desk("contacts_label_manage", action="delete", label="Roofers")["status"] == "deleted"
    assert label not in people.groups
    assert set(people.contacts) == {bo, cy}
    assert [(permission, detail.partition(", as work")[0]) for permission, detail in desk.asked] == [
        ("google.contacts.organize", 'create the label "Roof people" and put it on 1 contact: "Bo Berg"'),
        ("google.contacts.organize", 'put the label "Roof people" on 1 contact: "Cy Cold"'),
        ("google.contacts.organize", 'take the label "Roof people" off 1 contact: "Bo Berg"'),
        ("google.contacts.organize", 'rename the label "Roof people" to "Roofers"'),
        ("google.contacts.delete", 'delete the label "Roofers" permanently, taking it off 1 contact, which stay'),
    ]


@pytest.mark.long
def test_contacts_that_are_gone_or_would_lose_their_last_label_are_named(people, desk):
    label = people.add_group("Roofers")
    only = people.add("Bo", groups=(label,))
    people.contacts[only]["memberships"] = people.contacts[only]["memberships"][-1:]

    answer = desk("contacts_label_manage", action="remove", label="Roofers", resource_names=[only, "people/c404"])

    assert answer["contacts"] == []
    assert {each["resource_name"]: each["reason"] for each in answer["failed"]} == {
        "people/c404": "There is no such contact.",
        only: "A contact must keep one label.",
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    some(
        [
            ({"action": "create"}, "give name"),
            ({"action": "create", "name": "x", "label": "y"}, "and no label"),
            ({"action": "rename", "label": "Roofers", "name": " "}, "not empty"),
            ({"action": "delete"}, "Give label"),
            ({"action": "delete", "label": "Roofers", "name": "x"}, "name goes with"),
            ({"action": "delete", "label": "Roofers", "resource_names": ["people/c1"]}, "resource_names go with"),
            ({"action": "delete", "label": "My Contacts"}, "Google's own labels"),
            ({"action": "delete", "label": "Roof"}, "There is no label"),
            ({"action": "add", "label": "Roofers"}, "Give resource_names"),
            ({"action": "add", "label": "Roofers", "resource_names": ["people/me"]}, "none of the user's own contacts"),
        ],
        5,
    ),
)
def test_labels_that_cannot_be_changed_so_are_left_alone(people, desk, arguments, message):
    people.add_group("Roofers")

    error_type, said = desk.error("contacts_label_manage", **arguments)

    assert error_type == "validation_error"
    assert message in said
    assert desk.asked == []


def test_a_label_is_made_although_it_could_not_be_put_on_contacts(google, people, desk):
    bo = people.add("Bo", groups=(MY_CONTACTS,))
    google.fail("people.contactGroups.members.modify", status=403, reason="forbidden", times=1)

    answer = desk("contacts_label_manage", action="create", name="Roofers", resource_names=[bo])

    assert answer["status"] == "created"
    assert answer["failed"][0]["reason"].startswith("The label is on none of the contacts")
