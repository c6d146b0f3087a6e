"""The tools of the group ``google_forms``."""

from datetime import datetime, timedelta, timezone

import pytest
from google_desk import sign_in
from how_long import some
from hypothesis import given
from hypothesis import strategies as st
from oneclaw_google_workspace.forms.forms import (
    Question,
    check_questions,
    fitting,
    item_of,
    item_row,
    questions_of,
    since_filter,
    tally,
)

from oneclaw_core import PermissionAnswer

pytestmark = pytest.mark.one_python

AS_ANA = ", as work (ana@example.com)"
ALL_KINDS = [
    {"title": "Name", "type": "short_text", "required": True},
    {"title": "Story", "type": "paragraph", "description": "As long as you like"},
    {"title": "Day", "type": "multiple_choice", "options": ["Mon", "Tue"], "allow_other": True, "shuffle": True},
    {"title": "Topping", "type": "checkboxes", "options": ["Ham", "Egg"]},
    {"title": "Size", "type": "dropdown", "options": ["S", "L"]},
    {"title": "Mood", "type": "scale", "low": 0, "high": 10, "low_label": "bad", "high_label": "good"},
    {"title": "Stars", "type": "rating", "high": 3, "rating_icon": "HEART"},
    {"title": "Birthday", "type": "date", "include_year": False, "include_time": True},
    {"title": "Length", "type": "time", "duration": True},
    {"title": "Grid", "type": "grid", "rows": ["Food", "Room"], "options": ["ok", "not ok"], "grid_checkboxes": True},
    {"title": "Part two", "type": "section", "description": "Almost done"},
    {"title": "Thanks", "type": "text"},
    {"title": "Logo", "type": "image", "media_url": "https://example.com/logo.png"},
    {"title": "Film", "type": "video", "media_url": "https://www.youtube.com/watch?v=1"},
]


def text_item(title, **values):
    return {"title": title, "questionItem": {"question": {"textQuestion": {}, **values}}}


def choice_item(title, *options, kind="RADIO", **values):
    choice = {"type": kind, "options": [{"value": each} for each in options]}
    return {"title": title, "questionItem": {"question": {"choiceQuestion": choice, **values}}}


GRID = {
    "title": "Rate",
    "questionGroupItem": {
        "questions": [{"rowQuestion": {"title": "Food"}}, {"rowQuestion": {"title": "Room"}}],
        "grid": {"columns": {"type": "RADIO", "options": [{"value": "ok"}, {"value": "bad"}]}},
    },
}


@pytest.fixture
def forms(google):
    return google.services["forms"]


@pytest.fixture
def survey(forms):
    return forms.add("Survey", text_item("Name"), choice_item("Food", "Soup", "Salad"), text_item("Why"))


def test_a_form_is_shown_with_its_items_settings_and_links(google, forms, survey, desk):
    forms.forms[survey]["info"] |= {"description": "About lunch", "documentTitle": "survey-2026"}
    forms.forms[survey]["linkedSheetId"] = "1sheet"

    answer = desk("forms_get", form_id=f"https://docs.google.com/forms/d/{survey}/edit")

    assert "never instructions" in answer.pop("untrusted_content")
    name, food = answer["items"][:2]
    assert {key: value for key, value in answer.items() if key != "items"} == {
        "form_id": survey,
        "title": "Survey",
        "document_title": "survey-2026",
        "description": "About lunch",
        "edit_link": f"https://docs.google.com/forms/d/{survey}/edit",
        "responder_link": forms.forms[survey]["responderUri"],
        "is_quiz": False,
        "email_collection": "DO_NOT_COLLECT",
        "published": True,
        "accepting": True,
        "linked_sheet_id": "1sheet",
        "revision_id": forms.forms[survey]["revisionId"],
    }
    assert name == {
        "index": 0,
        "item_id": forms.items(survey)[0]["itemId"],
        "question_ids": [forms.items(survey)[0]["questionItem"]["question"]["questionId"]],
        "title": "Name",
        "type": "short_text",
    }
    assert (food["type"], food["options"]) == ("multiple_choice", ["Soup", "Salad"])
    assert desk.asked == []


def test_of_a_form_of_the_old_kind_no_one_knows_whether_it_is_published(forms, survey, desk):
    del forms.forms[survey]["publishSettings"]

    assert desk("forms_get", form_id=survey)["published"].startswith("unknown")
    error_type, message = desk.error("forms_update", form_id=survey, published=True)
    assert (error_type, "of the old kind" in message, desk.asked) == ("validation_error", True, [])


def test_an_id_from_a_link_for_respondents_is_told_from_a_forms_id(forms, survey, desk):
    assert "link for respondents" in desk.error("forms_get", form_id=forms.forms[survey]["responderUri"])[1]
    assert "link for respondents" in desk.error("forms_get", form_id="https://forms.gle/abc")[1]
    error_type, message = desk.error("forms_get", form_id="1FAIpQLunknown")
    assert (error_type, "the edit link has this one" in message) == ("not_found", True)


def test_long_lists_of_choices_are_cut(forms, desk):
    form = forms.add(
        "Countries", choice_item("Where", *(f"Country {number}" for number in range(200)), kind="DROP_DOWN")
    )

    (item,) = desk("forms_get", form_id=form)["items"]

    assert (len(item["options"]), item["options_not_shown"]) == (60, 140)


def test_a_form_is_created_with_every_kind_of_item(google, forms, desk):
    made = desk("forms_create", title="Party", description="Come!", questions=ALL_KINDS, email_collection="VERIFIED")

    form_id = made["form_id"]
    assert forms.titles(form_id) == [each["title"] for each in ALL_KINDS]
    assert [item["title"] for item in made["items"]] == forms.titles(form_id)
    assert len(made["items"][9]["question_ids"]) == 2
    assert "question_ids" not in made["items"][10]
    assert (made["published"], made["accepting"]) == (True, True)
    assert made["edit_link"] == f"https://docs.google.com/forms/d/{form_id}/edit"
    assert forms.forms[form_id]["info"] == {"title": "Party", "documentTitle": "Party", "description": "Come!"}
    assert forms.forms[form_id]["settings"]["emailCollectionType"] == "VERIFIED"
    assert desk.asked == [
        (
            "google.forms.write",
            'create the form "Party" with 14 items, open for answers from anyone who has its link, '
            'collecting addresses of respondents: VERIFIED, description "Come!", '
            'items "Name", "Story: As long as you like", '
            '"Day: Mon, Tue", "Topping: Ham, Egg", "Size: S, L", "Mood", "Stars", "Birthday", "Length", '
            '"Grid: Food, Room, ok, not ok" '
            f"and 4 more{AS_ANA}",
        )
    ]
    shown = desk("forms_get", form_id=form_id)["items"]
    assert [item["type"] for item in shown] == [each["type"] for each in ALL_KINDS]
    assert shown[2]["allow_other"]
    assert (shown[5]["low"], shown[5]["high"], shown[5]["low_label"]) == (0, 10, "bad")
    assert (shown[6]["high"], shown[9]["rows"]) == (3, ["Food", "Room"])
    assert shown[0]["required"]
    assert len(google.called("forms.forms.batchUpdate")) == 1


def test_a_quiz_is_graded_and_can_stay_unpublished(forms, desk):
    questions = [
        {"title": "1+1", "type": "multiple_choice", "options": ["2", "3"], "points": 5, "correct_answers": ["2"]},
        {"title": "Pi", "type": "short_text", "correct_answers": ["3.14", "3,14"]},
    ]

    made = desk("forms_create", title="Sums", document_title="sums", is_quiz=True, questions=questions, publish=False)

    grading = [item["questionItem"]["question"]["grading"] for item in forms.items(made["form_id"])]
    assert [each["pointValue"] for each in grading] == [5, 1]
    assert (made["published"], made["accepting"]) == (False, False)
    assert desk.asked[0][1].startswith('create the quiz "Sums" with 2 items, not published yet')
    shown = desk("forms_get", form_id=made["form_id"])
    assert (shown["is_quiz"], shown["document_title"]) == (True, "sums")
    assert (shown["items"][1]["points"], shown["items"][1]["correct_answers"]) == (1, ["3.14", "3,14"])


def test_a_form_is_put_into_a_folder(google, desk):
    drive = google.services["drive"]
    folder = drive.add_folder("Surveys")

    made = desk("forms_create", title="Party", folder_id=folder)

    assert made["folder_id"] == folder == drive.parent(made["form_id"])
    assert 'in the folder "Surveys"' in desk.asked[0][1]


def test_what_went_wrong_after_the_creation_is_told_with_the_new_id(google, forms, desk):
    folder = google.services["drive"].add_folder("Surveys")
    google.fail("forms.forms.batchUpdate", status=400, reason="INVALID_ARGUMENT")
    google.fail("drive.files.update", status=403, reason="insufficientFilePermissions")

    made = desk("forms_create", title="Party", description="Come!", folder_id=folder)

    assert made["form_id"] in forms.forms
    assert [each["step"] for each in made["failed"]] == ["questions and settings", "folder_id"]
    assert "injected" in made["failed"][0]["reason"]


def test_a_creation_whose_outcome_no_one_knows_is_not_repeated(google, forms, desk):
    google.fail("forms.forms.create", status=500, is_after=True)

    error_type, message = desk.error("forms_create", title="Party")

    assert (error_type, len(forms.forms)) == ("unknown_outcome", 1)
    assert "drive_search_files" in message


def test_questions_are_added_at_the_end_or_at_a_place(forms, survey, desk):
    desk("forms_add_questions", form_id=survey, questions=[{"title": "Last", "type": "date"}])
    answer = desk(
        "forms_add_questions",
        form_id=survey,
        questions=[{"title": "First\nof all", "type": "short_text"}, {"title": "Then", "type": "section"}],
        index=1,
    )

    assert forms.titles(survey) == ["Name", "First of all", "Then", "Food", "Why", "Last"]
    assert [each["index"] for each in answer["added"]] == [1, 2]
    assert answer["added"][0]["item_id"] == forms.items(survey)[1]["itemId"]
    assert answer["revision_id"] == forms.forms[survey]["revisionId"]
    assert [detail for _, detail in desk.asked] == [
        f'add 1 item at the end of the form "Survey": "Last"{AS_ANA}',
        f'add 2 items at place 1 of the form "Survey": "First of all", "Then"{AS_ANA}',
    ]


def test_questions_that_went_in_unseen_are_not_added_twice(google, forms, survey, desk):
    google.fail("forms.forms.batchUpdate", status=503, is_after=True)

    answer = desk("forms_add_questions", form_id=survey, questions=[{"title": "New", "type": "rating"}])

    assert forms.titles(survey) == ["Name", "Food", "Why", "New"]
    assert answer["added"][0]["question_ids"] == [forms.items(survey)[3]["questionItem"]["question"]["questionId"]]
    google.fail("forms.forms.batchUpdate", status=503, is_after=True)
    made = desk("forms_create", title="X", description="Y", questions=[{"title": "New", "type": "rating"}])
    assert forms.titles(made["form_id"]) == ["New"]
    assert (made["items"][0]["title"], made.get("failed")) == ("New", None)


@pytest.mark.long
def test_somebody_elses_change_in_between_is_a_conflict(google, forms, survey, desk):
    find = forms.change

    def change(call):
        forms.touch(survey)
        return find(call)

    google._handlers["forms.forms.batchUpdate"] = change
    for arguments in ({"title": "New"}, {"delete_item_ids": [forms.items(survey)[0]["itemId"]]}):
        error_type, message = desk.error("forms_update", form_id=survey, **arguments)
        assert (error_type, "forms_get" in message) == ("conflict", True)
    for question in ({"title": "New", "type": "date"}, {"title": "Name", "type": "short_text"}):  # one is there already
        error_type, _ = desk.error("forms_add_questions", form_id=survey, questions=[question], index=0)

    assert (error_type, forms.titles(survey)) == ("conflict", ["Name", "Food", "Why"])


def test_what_google_does_not_take_is_told_as_it_says_it(google, survey, desk):
    google.fail("forms.forms.batchUpdate", status=400, reason="INVALID_ARGUMENT")

    error_type, message = desk.error("forms_update", form_id=survey, title="New")

    assert (error_type, "injected" in message) == ("validation_error", True)


def test_texts_and_settings_are_changed(forms, survey, desk):
    answer = desk(
        "forms_update", form_id=survey, title="Lunch", description="", is_quiz=True, email_collection="RESPONDER_INPUT"
    )

    form = forms.forms[survey]
    assert form["info"] == {"title": "Lunch", "documentTitle": "Survey", "description": ""}
    assert form["settings"] == {"emailCollectionType": "RESPONDER_INPUT", "quizSettings": {"isQuiz": True}}
    assert answer["changed"] == ["title", "description", "is_quiz", "email_collection"]
    assert (answer["published"], answer["revision_id"]) == (True, form["revisionId"])
    assert desk.asked[0][1].startswith('change the form "Survey": set its title to "Lunch"; set its description to ""')


def test_the_user_is_told_that_grading_goes_with_the_quiz(forms, desk):
    quiz = forms.add("Quiz", settings={"quizSettings": {"isQuiz": True}})

    desk("forms_update", form_id=quiz, is_quiz=False)

    assert "make it no quiz, which deletes all grading" in desk.asked[0][1]


def test_items_are_edited_deleted_and_moved_by_their_ids(forms, survey, desk):
    ids = [item["itemId"] for item in forms.items(survey)]
    question = forms.items(survey)[1]["questionItem"]["question"]["questionId"]
    forms._insert(forms.forms[survey], GRID, 3)

    answer = desk(
        "forms_update",
        form_id=survey,
        edit_items=[
            {"item_id": ids[1], "title": "Dish", "description": "One", "required": True, "options": ["A", "Soup"]}
        ],
        delete_item_ids=[ids[0], ids[2], ids[0]],
        move_item_id=ids[1],
        move_to_index=9,
    )

    dish = forms.item(survey, "Dish")
    assert forms.titles(survey) == ["Rate", "Dish"]
    assert (dish["description"], dish["questionItem"]["question"]["questionId"]) == ("One", question)
    assert dish["questionItem"]["question"]["required"]
    assert dish["questionItem"]["question"]["choiceQuestion"]["options"] == [{"value": "A"}, {"value": "Soup"}]
    assert answer["changed"] == ["edit_items", "delete_item_ids", "move_item_id"]
    assert desk.asked[0][1] == (
        'change the form "Survey": permanently delete "Name", "Why"; '
        'move "Food" to place 1; change "Food": title "Dish", '
        f'description "One", required, options "A", "Soup"{AS_ANA}'
    )


def test_a_grid_is_edited_without_losing_the_ids_of_its_rows(forms, desk):
    form = forms.add("Hotel", GRID)
    item = forms.items(form)[0]
    ids = [each["questionId"] for each in item["questionGroupItem"]["questions"]]

    desk(
        "forms_update", form_id=form, edit_items=[{"item_id": item["itemId"], "required": True, "options": ["1", "2"]}]
    )

    group = forms.items(form)[0]["questionGroupItem"]
    assert [each["questionId"] for each in group["questions"]] == ids
    assert all(each["required"] for each in group["questions"])
    assert [each["value"] for each in group["grid"]["columns"]["options"]] == ["1", "2"]


def test_the_rows_of_a_grid_are_shuffled_only_if_asked_for(google, forms, desk):
    grid = {"title": "Rate", "type": "grid", "rows": ["Food", "Room"], "options": ["ok", "bad"]}
    form = desk("forms_create", title="Hotel", questions=[grid, {**grid, "title": "Mixed", "shuffle": True}])["form_id"]
    still, mixed = desk("forms_get", form_id=form)["items"]

    assert ("shuffle" in still, mixed["shuffle"]) == (False, True)
    groups = [each["questionGroupItem"]["grid"] for each in forms.items(form)]
    assert ["shuffleQuestions" in each for each in groups] == [False, True]
    assert not any("shuffle" in each["columns"] for each in groups)

    edits = [{"item_id": each["item_id"], "options": ["1", "2"], "required": True} for each in (still, mixed)]
    desk("forms_update", form_id=form, edit_items=edits)

    assert ["shuffleQuestions" in each["questionGroupItem"]["grid"] for each in forms.items(form)] == [False, True]

    edits = [{"item_id": still["item_id"], "shuffle": True}, {"item_id": mixed["item_id"], "shuffle": False}]
    desk("forms_update", form_id=form, edit_items=edits)

    shown = desk("forms_get", form_id=form)["items"]
    assert [each.get("shuffle", False) for each in shown] == [True, False]
    assert 'change "Rate": in random order; change "Mixed": in their own order' in desk.asked[-1][1]


def test_the_choices_of_a_question_are_shuffled_by_an_edit(forms, desk):
    form = forms.add("Lunch", choice_item("Food", "Soup", "Salad"), text_item("Why"))
    food, why = (each["itemId"] for each in forms.items(form))

    desk("forms_update", form_id=form, edit_items=[{"item_id": food, "shuffle": True}])

    assert desk("forms_get", form_id=form)["items"][0]["shuffle"] is True
    assert desk.error("forms_update", form_id=form, edit_items=[{"item_id": why, "shuffle": True}]) == (
        "validation_error",
        "'Why' is of the type short_text, which has nothing to shuffle.",
    )


def test_an_other_choice_and_where_a_choice_leads_stay(forms, desk):
    item = choice_item("Food", "Soup", "Salad")
    options = item["questionItem"]["question"]["choiceQuestion"]["options"]
    options[0]["goToAction"] = "SUBMIT_FORM"
    options.append({"isOther": True})
    form = forms.add("Survey", item)

    desk(
        "forms_update",
        form_id=form,
        edit_items=[{"item_id": forms.items(form)[0]["itemId"], "options": ["Pie", "Soup"]}],
    )

    assert forms.items(form)[0]["questionItem"]["question"]["choiceQuestion"]["options"] == [
        {"value": "Pie"},
        {"value": "Soup", "goToAction": "SUBMIT_FORM"},
        {"isOther": True},
    ]


def test_choices_with_images_are_left_to_the_user(forms, desk):
    item = choice_item("Food", "Soup", "Salad")
    image = {"contentUri": "https://lh3.example/x", "properties": {"width": 100}}
    item["questionItem"]["question"]["choiceQuestion"]["options"][0]["image"] = image
    form = forms.add("Survey", item)
    item_id = forms.items(form)[0]["itemId"]

    _, message = desk.error("forms_update", form_id=form, edit_items=[{"item_id": item_id, "options": ["Pie"]}])
    desk("forms_update", form_id=form, edit_items=[{"item_id": item_id, "title": "Dish"}])

    assert "have images" in message
    choice = forms.item(form, "Dish")["questionItem"]["question"]["choiceQuestion"]
    assert choice["options"][0]["image"] == image


@pytest.mark.parametrize(
    ("before", "arguments", "after"),
    some(
        [
            ((False, False), {"published": True}, (True, True)),
            ((True, False), {"published": True}, (True, False)),
            ((True, True), {"published": False}, (False, False)),
            ((True, True), {"accepting_responses": False}, (True, False)),
            ((True, False), {"accepting_responses": True}, (True, True)),
            ((False, False), {"published": True, "accepting_responses": False}, (True, False)),
        ],
        3,
    ),
)
def test_publishing(google, forms, survey, desk, before, arguments, after):
    state = dict(zip(("isPublished", "isAcceptingResponses"), before, strict=True))
    forms.forms[survey]["publishSettings"] = {"publishState": state}

    answer = desk("forms_update", form_id=survey, **arguments)

    state = forms.forms[survey]["publishSettings"]["publishState"]
    assert (state["isPublished"], state["isAcceptingResponses"]) == after == (answer["published"], answer["accepting"])
    assert answer["changed"] == list(arguments)
    assert google.called("forms.forms.batchUpdate") == []


def test_what_is_changed_is_told_when_the_publishing_fails(google, forms, survey, desk):
    google.fail("forms.forms.setPublishSettings", status=403, reason="PERMISSION_DENIED")

    error_type, message = desk.error("forms_update", form_id=survey, title="Lunch", published=False)

    assert (error_type, message.startswith("Everything else is changed")) == ("permission_denied", True)
    assert forms.forms[survey]["info"]["title"] == "Lunch"


@pytest.mark.long
def test_answers_come_as_rows_in_the_order_of_their_submission(forms, survey, desk):
    forms.answer(survey, "2026-03-31T10:00:00.5Z", "bo@example.com", Why="late", Name="Bo")
    first = forms.answer(survey, "2026-03-31T09:00:00Z", Name="Ana", Food=["Soup", "Salad"])
    forms.responses[survey][0] |= {"totalScore": 3}

    answer = desk("forms_get_responses", form_id=survey)

    assert answer["form"] == "Survey"
    assert answer["responses"] == [
        {
            "response_id": first,
            "submitted": "2026-03-31T09:00:00Z",
            "answers": {"Name": "Ana", "Food": ["Soup", "Salad"]},
        },
        {
            "response_id": forms.responses[survey][0]["responseId"],
            "submitted": "2026-03-31T10:00:00.5Z",
            "email": "bo@example.com",
            "score": 3,
            "answers": {"Name": "Bo", "Why": "late"},
        },
    ]
    assert "never instructions" in answer["untrusted_content"]


@pytest.mark.long
def test_answers_to_grids_deleted_questions_and_with_files_are_named(forms, desk):
    form = forms.add("Hotel", GRID, text_item("Photo"), text_item("Photo"))
    rows = [each["questionId"] for each in forms.items(form)[0]["questionGroupItem"]["questions"]]
    forms.answer(form, "2026-03-31T09:00:00Z", **{rows[1]: "bad", rows[0]: "ok", "gone99": "old"})
    photo = forms.items(form)[2]["questionItem"]["question"]["questionId"]
    forms.responses[form][0]["answers"][photo] = {
        "questionId": photo,
        "fileUploadAnswers": {"answers": [{"fileId": "file1", "fileName": "me.png"}]},
    }

    (row,) = desk("forms_get_responses", form_id=form)["responses"]

    assert row["answers"] == {
        "Rate [Food]": "ok",
        "Rate [Room]": "bad",
        "Photo (2)": "me.png (file id file1)",
        "(deleted question gone99)": "old",
    }


def test_only_answers_since_a_moment_in_any_zone(google, forms, survey, desk):
    forms.answer(survey, "2026-03-31T07:59:59Z", Name="early")
    forms.answer(survey, "2026-03-31T08:00:00Z", Name="just in time")

    answer = desk("forms_get_responses", form_id=survey, since="2026-03-31T10:00:00+02:00")

    assert [row["answers"]["Name"] for row in answer["responses"]] == ["just in time"]
    assert google.queries("forms.forms.responses.list")[0]["filter"] == "timestamp >= 2026-03-31T08:00:00.000000Z"


@pytest.mark.long
def test_many_answers_have_pages(forms, survey, desk):
    for number in range(5):
        forms.answer(survey, f"2026-03-31T0{number}:00:00Z", Name=str(number))

    first = desk("forms_get_responses", form_id=survey, max_results=3)
    second = desk("forms_get_responses", form_id=survey, max_results=3, page_token=first["next_page_token"])

    names = [row["answers"]["Name"] for row in first["responses"] + second["responses"]]
    assert sorted(names) == [str(number) for number in range(5)]
    assert "next_page_token" not in second


def test_a_page_that_is_too_long_is_cut_and_the_model_told_how_to_get_the_rest(forms, survey, desk, monkeypatch):
    for number in range(40):
        forms.answer(survey, f"2026-03-31T00:00:{number:02}Z", Name="x" * 1000)
    alone = forms.answer(survey, "2026-03-31T00:01:00Z", Name="y" * 5000)

    whole = desk("forms_get_responses", form_id=survey, max_results=40)
    assert len(whole["responses"]) == 40  # as a script gets it, outside a conversation too

    as_shown = fitting
    monkeypatch.setattr("oneclaw_google_workspace.forms.forms.fitting", lambda rows, shown: as_shown(rows, 30_000))
    answer = desk("forms_get_responses", form_id=survey, max_results=40)
    again = desk("forms_get_responses", form_id=survey, max_results=len(answer["responses"]))

    assert 15 < len(answer["responses"]) < 30
    assert f"Ask again with max_results {len(answer['responses'])}, then go on" in answer["left_out"]
    assert "next_page_token" not in answer
    assert again["next_page_token"]
    assert again["responses"][-1]["answers"]["Name"].endswith("... (5000 characters)")
    (row,) = desk("forms_get_responses", form_id=survey, response_id=alone)["responses"]
    assert row["answers"]["Name"] == "y" * 5000


@pytest.mark.long
def test_a_response_that_is_not_there(survey, desk):
    assert desk.error("forms_get_responses", form_id=survey, response_id="nope")[0] == "not_found"


def test_all_answers_are_tallied(google, forms, desk):
    scale = {"title": "Mood", "questionItem": {"question": {"scaleQuestion": {"low": 1, "high": 5}}}}
    form = forms.add("Survey", choice_item("Food", "Soup", "Salad", kind="CHECKBOX"), scale, text_item("Why"), GRID)
    for number in range(12):
        foods = ["Soup", "Salad"] if number % 3 == 0 else ["Pie"]
        forms.answer(form, f"2026-03-31T00:00:{number:02}Z", Food=foods, Mood=4 + number % 2, Why=f"reason {number}")
    forms.responses[form][0]["totalScore"] = 4
    forms.responses[form][1]["totalScore"] = 7

    answer = desk("forms_get_responses", form_id=form, summarize=True)

    assert (answer["response_count"], answer["average_score"]) == (12, 5.5)
    assert (answer["first"], answer["last"]) == ("2026-03-31T00:00:00Z", "2026-03-31T00:00:11Z")
    assert answer["summary"] == [
        {"question": "Food", "type": "checkboxes", "answered": 12, "counts": {"Soup": 4, "Salad": 4, "Pie": 8}},
        {"question": "Mood", "type": "scale", "answered": 12, "counts": {"4": 6, "5": 6}, "average": 4.5},
        {
            "question": "Why",
            "type": "short_text",
            "answered": 12,
            "latest": [f"reason {number}" for number in range(7, 12)],
        },
        {"question": "Rate [Food]", "type": "grid", "answered": 0, "counts": {"ok": 0, "bad": 0}},
        {"question": "Rate [Room]", "type": "grid", "answered": 0, "counts": {"ok": 0, "bad": 0}},
    ]
    assert google.queries("forms.forms.responses.list")[0]["pageSize"] == "5000"


def test_whoever_signed_in_without_forms_is_told_how_to_add_it(google, home, desk, survey):
    sign_in(google, home, services=("tasks",))

    error_type, message = desk.error("forms_get_responses", form_id=survey)

    assert (error_type, "oneclaw google login" in message) == ("not_available", True)


def test_whoever_says_no_keeps_everything_as_it_is(google, forms, survey, desk):
    desk.answer = PermissionAnswer.NO
    before = repr(forms.forms)

    for tool, arguments in (
        ("forms_create", {"title": "X"}),
        ("forms_add_questions", {"form_id": survey, "questions": [{"title": "X", "type": "text"}]}),
        ("forms_update", {"form_id": survey, "title": "X"}),
        ("forms_update", {"form_id": survey, "published": False}),
    ):
        assert desk.error(tool, **arguments)[0] == "permission_denied"

    assert repr(forms.forms) == before
    assert len(desk.asked) == 4


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    some(
        [
            ("forms_create", {"title": " "}, "A form needs a title"),
            ("forms_update", {}, "Give what to change about the form"),
            ("forms_update", {"title": " "}, "cannot be without a title"),
            ("forms_update", {"move_item_id": "x"}, "move_item_id and move_to_index go together"),
            ("forms_update", {"published": False, "accepting_responses": True}, "not published cannot take answers"),
            ("forms_update", {"edit_items": [{"item_id": "x"}]}, "Give what to change about the item x"),
            ("forms_update", {"edit_items": [{"item_id": "x", "title": "a"}] * 2}, "The item x is edited twice"),
            (
                "forms_update",
                {"delete_item_ids": ["x"], "move_item_id": "x", "move_to_index": 0},
                "deleted and changed",
            ),
            ("forms_get_responses", {"response_id": "x", "summarize": True}, "response_id goes without"),
            ("forms_get_responses", {"page_token": "x", "summarize": True}, "it has no pages"),
            ("forms_get_responses", {"since": "2026-03-31"}, "since must be a moment with its zone"),
            ("forms_get_responses", {"since": "0001-01-01T00:00:00+05:00"}, "since must be a moment"),
        ],
        5,
    ),
)
def test_what_cannot_be_is_refused_before_anything_is_sent(google, desk, tool, arguments, message):
    named = {} if tool == "forms_create" else {"form_id": "1form"}

    error_type, said = desk.error(tool, **{**named, **arguments})

    assert (error_type, desk.asked, google.requests) == ("validation_error", [], [])
    assert message in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"delete_item_ids": ["nope"]}, "The form has no item 'nope'"),
        ({"edit_items": [{"item_id": 0, "options": ["a"]}]}, "'Name' is of the type short_text, which has no options"),
        ({"edit_items": [{"item_id": 1, "options": ["a", "a "]}]}, "must be different texts"),
        ({"edit_items": [{"item_id": 3, "required": True}]}, "is of the type text, which no one answers"),
    ],
)
def test_what_does_not_fit_the_form_is_refused(forms, survey, desk, arguments, message):
    forms._insert(forms.forms[survey], {"title": "Hello", "textItem": {}}, 3)
    for edit in arguments.get("edit_items", []):
        edit["item_id"] = forms.items(survey)[edit["item_id"]]["itemId"]

    error_type, said = desk.error("forms_update", form_id=survey, **arguments)

    assert (error_type, desk.asked) == ("validation_error", [])
    assert message in said


@pytest.mark.parametrize(
    ("question", "message"),
    some(
        [
            ({"type": "multiple_choice"}, "needs options"),
            ({"type": "dropdown", "options": ["a", " a"]}, "has 'a' twice in options"),
            (
                {"type": "dropdown", "options": ["a"], "allow_other": True},
                "of the type dropdown, which has no allow_other",
            ),
            ({"type": "text", "required": True}, "of the type text, which has no required"),
            ({"type": "grid", "options": ["a"]}, "needs rows"),
            ({"type": "grid", "options": ["a"], "rows": ["b"], "points": 1}, "of the type grid, which has no points"),
            ({"type": "image"}, "needs media_url, the public address"),
            ({"type": "video", "media_url": "https://example.com/youtube.com/x"}, "a link to YouTube"),
            ({"type": "short_text", "correct_answers": ["x"]}, "only a quiz has"),
        ],
        5,
    ),
)
def test_questions_that_cannot_be_are_refused_by_their_number(survey, desk, question, message):
    questions = [{"title": "Fine", "type": "date"}, {"title": "Wrong", **question}]

    for tool, named in (("forms_create", {"title": "X"}), ("forms_add_questions", {"form_id": survey})):
        error_type, said = desk.error(tool, **named, questions=questions)
        assert (error_type, desk.asked) == ("validation_error", [])
        assert said.startswith("Question 2 ('Wrong')")
        assert message in said


def test_a_right_answer_must_be_one_of_the_choices(desk):
    question = {"title": "1+1", "type": "dropdown", "options": ["2", "3"], "correct_answers": ["4"]}

    _, message = desk.error("forms_create", title="Sums", is_quiz=True, questions=[question])

    assert "the correct answer '4' is none of the options" in message


LINES = st.text(min_size=1, max_size=20).filter(str.strip)


@pytest.mark.long
@given(LINES, st.lists(LINES, min_size=1, max_size=6, unique_by=lambda text: " ".join(text.split())))
def test_what_is_asked_is_what_is_shown(title, options):
    for kind in ("multiple_choice", "checkboxes", "dropdown"):
        question = {"title": title, "type": kind, "options": options}
        check_questions([question], is_quiz=False)

        row = item_row(0, item_of(question))

        assert (row["type"], row["title"]) == (kind, " ".join(title.split()))
        assert row["options"] == [" ".join(each.split()) for each in options]


@given(st.lists(st.sampled_from(["Name", "Name (2)", "", "A\nB"]), max_size=8))
def test_no_two_questions_of_a_form_have_the_same_title(titles):
    items = [{"title": title, "questionItem": {"question": {"questionId": str(n)}}} for n, title in enumerate(titles)]

    found = questions_of({"items": items})

    assert len({question.title for question in found}) == len(titles)


@pytest.mark.long
@given(st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.timezones()))
def test_moments_are_told_in_utc(moment):
    # Some zones had offsets with seconds, which RFC 3339 has no way to write.
    moment = moment.astimezone(timezone(timedelta(minutes=round(moment.utcoffset().total_seconds() / 60))))

    written = since_filter(moment.isoformat())

    assert written.startswith("timestamp >= ")
    assert written.endswith("Z")
    assert datetime.fromisoformat(written.removeprefix("timestamp >= ")) == moment


@given(st.lists(st.lists(st.sampled_from(["a", "b", "else"]), max_size=3), max_size=30))
def test_no_answer_is_lost_in_a_tally(answered):
    responses = [
        {"answers": {"q": {"textAnswers": {"answers": [{"value": value} for value in values]}}}} for values in answered
    ]

    (row,) = tally(responses, [Question("q", "Q", "checkboxes", ("a", "b"))])

    assert sum(row["counts"].values()) == sum(map(len, answered))
    assert row["answered"] == len(answered)
